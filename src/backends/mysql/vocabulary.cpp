#include "backends/mysql/vocabulary.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "sql/ulid_text.hpp"

namespace postroom::mysql {

namespace {

using sql::Phrases;
using sql::RowPlace;

// 32 hexadecimal digits as the text of a UUID.
std::string dashed(std::string_view digits) {
    return fmt::format(
        "LOWER(INSERT(INSERT(INSERT(INSERT({}, 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-'))",
        digits);
}

// A text that a view computes. Its literals have the collation of the session that made the view,
// HEX() and what a reader compares with have that of the reader's session; without a character set
// of its own such a column is an illegal mix of both.
std::string in_ascii(std::string_view text) { return fmt::format("CONVERT({} USING ascii)", text); }

// What several routines say, whatever the queue. `v_own` tells whether a transaction is ours.
Phrases common_phrases() {
    return {
        {"modifies", "MODIFIES SQL DATA SQL SECURITY INVOKER"},
        {"as_owner", "MODIFIES SQL DATA SQL SECURITY DEFINER"},
        {"reads", "READS SQL DATA SQL SECURITY INVOKER"},
        {"computes", "CONTAINS SQL SQL SECURITY INVOKER"},
        // A procedure that runs in the caller's transaction, or else in one of its own.
        {"own_transaction", "DECLARE v_own BOOLEAN DEFAULT FALSE;\n    {undo_own}"},
        {"undo_own",
         "DECLARE EXIT HANDLER FOR SQLEXCEPTION\n"
         "    BEGIN\n        IF v_own THEN ROLLBACK; END IF;\n        RESIGNAL;\n    END;"},
        // The numbers of the work-item ids in the JSON array in_ids.
        {"given_items",
         "(SELECT DISTINCT (CAST(CONV(SUBSTR(p.h, 1, 12), 16, 10) AS UNSIGNED) << 10)\n"
         "               | (CAST(CONV(SUBSTR(p.h, 14, 3), 16, 10) AS UNSIGNED) >> 2) AS seq,\n"
         "           CAST(((CAST(CONV(SUBSTR(p.h, 14, 3), 16, 10) AS UNSIGNED) & 3) << 62)\n"
         "               | (CAST(CONV(SUBSTR(p.h, 17, 16), 16, 10) AS UNSIGNED) & "
         "4611686018427387903) AS SIGNED) AS nonce\n"
         "      FROM (SELECT REPLACE(s.id, '-', '') AS h\n"
         "              FROM JSON_TABLE(in_ids, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS s) AS "
         "p\n"
         "     WHERE LENGTH(p.h) = 32 AND SUBSTR(p.h, 13, 1) = '8')"},
        {"commit_own", "IF v_own THEN COMMIT; END IF;"},
        // On one server nobody else can have come first. In a cluster another node may, and it is
        // tried again as after a deadlock.
        {"first_wins",
         "DECLARE EXIT HANDLER FOR 1062\n"
         "        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213,\n"
         "            MESSAGE_TEXT = 'another node of the cluster came first';"},
        // Sets are JSON arrays.
        {"numbers", "'$[*]' COLUMNS (seq BIGINT PATH '$')"},
        {"lease_rows",
         "'$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]', "
         "lease_id BIGINT PATH '$[2]')"},
        {"given_nonces",
         "(SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS "
         "n)"},
        // Of the session: that of a single transaction cannot be asked for.
        {"isolation", "/*M! @@tx_isolation */ /*!80000 @@transaction_isolation */"},
        {"no_end", "9223372036854775807"},
        // The highest that fits into a work-item id. Anybody who may write the column can set a
        // higher one, which no engine refuses for a column that counts by itself: it is no message.
        {"last_number", "288230376151711743"},
        // A row that somebody wrote with the number of a fresh message waits until that is gone:
        // both would have the same lease.
        {"no_twin", "(SELECT t.seq FROM {live} AS t WHERE t.seq = m.seq) IS NULL"},
        {"random",
         "CAST(CONV(SUBSTR(SHA2(CONCAT(UUID(), RAND()), 256), 1, 16), 16, -10) AS SIGNED)"},
        {"item_id",
         dashed(
             "CONCAT(LPAD(HEX(m.seq >> 10), 12, '0'), '8', LPAD(HEX(((m.seq & 1023) << 2) "
             "| (CAST(m.nonce AS UNSIGNED) >> 62)), 3, '0'), LPAD(HEX((CAST(m.nonce AS UNSIGNED) "
             "& 4611686018427387903) | 9223372036854775808), 16, '0'))")},
        {"owner_text", dashed("HEX(in_owner)")},
        // Who holds v_seq.
        {"worker_text",
         dashed("HEX(COALESCE((SELECT l.owner FROM {lease} AS l WHERE l.seq = v_seq), "
                "(SELECT v.owner FROM {live} AS v WHERE v.seq = v_seq)))")},
        // What the passes of a claim are given, and hand on.
        {"leasing",
         "IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_until DATETIME(6), "
         "INOUT io_seqs LONGTEXT, INOUT io_leased BIGINT"},
        {"to_lease", "in_owner, in_lease_id, in_until, io_seqs, io_leased"},
        {"ceilings",
         "IN in_urgent_to BIGINT, IN in_keyed_to BIGINT, IN in_due_to BIGINT, IN in_low_to BIGINT, "
         "IN in_keyed_again_to BIGINT"},
        {"to_ceilings", "in_urgent_to, in_keyed_to, in_due_to, in_low_to, in_keyed_again_to"},
        // The messages of a lease, with numbers from in_first to in_last: a table goes in between.
        {"leased", "{lease} AS l FORCE INDEX (PRIMARY) STRAIGHT_JOIN"},
        {"by_number",
         "AS m FORCE INDEX (PRIMARY) ON m.seq = l.seq{maybe_key} "
         "WHERE l.seq BETWEEN in_first AND in_last AND l.lease_id = in_lease_id"},
        {"content_bytes", "LENGTH(m.payload) + COALESCE(LENGTH(m.headers), 0)"},
        {"is_beyond", "v_beyond IS NOT NULL AND JSON_CONTAINS(v_beyond, CAST(m.seq AS CHAR))"},
        {"beyond_size", "IF({is_beyond}, {content_bytes}, NULL) AS content_bytes"},
        {"first_of_key",
         "{waiting} AS b FORCE INDEX (`{queue}_waiting_line`) "
         "WHERE b.ordering_key = t.ordering_key AND b.frees_key = 0 ORDER BY b.seq LIMIT 1"},
        {"chosen_keys",
         "(SELECT UNHEX(j.a) AS a, UNHEX(j.b) AS b FROM JSON_TABLE(v_keys, '$[*]' COLUMNS ("
         "a VARCHAR(2048) PATH '$[0]', b VARCHAR(2048) PATH '$[1]')) AS j) AS s "
         "STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON {key_chosen}"},
        {"view_extras",
         in_ascii(dashed("HEX(v.owner)")) +
             " AS owner_token, v.state = 2 AS is_processed, v.available_at AS next_attempt_at, "
             "v.state AS status, {documented}"}};
}

// Stands in a file of the schema, so it never changes.
std::string new_message_id() {
    return "CONCAT(" +
           sql::ulid_time_text(
               "SUBSTR('{0}', 1 + (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
               "UTC_TIMESTAMP(3)) DIV 1000 DIV {1} % 32), 1)",
               ", ") +
           ", UPPER(RIGHT(SHA2(CONCAT(UUID(), RAND()), 256), 16)))";
}

Phrases outbox_phrases() {
    return {{"new_message_id", new_message_id()},
            {"lock_chosen", ""},  // nobody changes a fresh message that is not leased
            {"lock_given", ""},   // no keys stand between a message and its lease
            {"with_key", ""},
            {"maybe_key", ""},
            {"in_past", "{in_done}"},
            {"past", "{done} AS m"},
            {"row_past", "{row:done}"},
            {"keep",
             "REPLACE INTO {done} ({columns:kept}, processed_at, processed_by, available_at, "
             "retry_count, lost_count, attempts)\n        SELECT {columns:kept m}, v_at, v_owner,"},
            {"key_pair", "k.tenant_id AS a, k.idempotency_key AS b"},
            {"key_chosen", "k.tenant_id = s.a AND k.idempotency_key = s.b"},
            {"key_by_time", "`{queue}_key_by_time`"},
            {"key_time", "k.created_at"},
            {"key_is_old", "k.created_at <= in_before"},
            {"keys_last", "in_window_us"},
            {"purge_history",
             "DELETE FROM {done} WHERE processed_at <= v_at - INTERVAL in_older_us MICROSECOND\n"
             "         ORDER BY processed_at LIMIT in_batch;\n"
             "        SET v_history = ROW_COUNT();"},
            {"first_seen", "m.created_at"},
            {"error_required", "FALSE"},
            {"dead_keys", "0"},
            {"seen_keys", "0"}};
}

Phrases inbox_phrases() {
    return {// A message that arrives again changes its content: a claim locks what it leases, and
            // passes by what is being changed.
            {"lock_chosen",
             "IF v_set IS NOT NULL THEN\n"
             "        SELECT JSON_ARRAYAGG(d.seq) INTO v_set\n"
             "          FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(v_set, {numbers}) AS "
             "j) AS s\n"
             "                STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq "
             "FOR UPDATE SKIP LOCKED) AS d;\n"
             "    END IF;"},
            {"lock_given", "CALL {lock_keys}(in_seqs);"},
            {"with_key",
             "\n  JOIN {key} AS k ON k.source = m.source AND k.message_id = m.message_id "
             "AND k.seq = m.seq"},
            {"maybe_key",
             "\n      LEFT JOIN {key} AS k ON k.source = m.source AND k.message_id = m.message_id"},
            {"in_past", "{in_key}"},
            {"past", "{key} AS k WHERE k.seq IS NULL"},
            {"row_past", "{row:key}"},
            {"set_key_done",
             "STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) "
             "ON k.source = m.source AND k.message_id = m.message_id\n"
             "           SET k.state = 2, k.seq = NULL, k.nonce = NULL, k.processed_at = v_at, "
             "k.processed_by = v_owner, k.content_type = IF(in_keep, m.content_type, NULL), "
             "k.headers = IF(in_keep, m.headers, NULL), k.payload = IF(in_keep, m.payload, NULL)"},
            {"kept_content",
             "IF(in_keep, m.content_type, NULL), IF(in_keep, m.headers, NULL), IF(in_keep, "
             "m.payload, NULL)"},
            // The rows of received_rows.hpp.
            {"received",
             "(SELECT j.nonce, FROM_BASE64(j.source) AS source, FROM_BASE64(j.message_id) AS "
             "message_id, FROM_BASE64(j.topic) AS topic, FROM_BASE64(j.content_type) AS "
             "content_type, CONVERT(FROM_BASE64(j.headers) USING utf8mb4) AS headers, "
             "FROM_BASE64(j.hash) AS hash, j.priority, j.max_attempts, FROM_BASE64(j.payload) AS "
             "payload\n"
             "              FROM JSON_TABLE(in_rows, '$[*]' COLUMNS (nonce BIGINT PATH '$[0]', "
             "source VARCHAR(2048) PATH '$[1]', message_id VARCHAR(2048) PATH '$[2]', "
             "topic VARCHAR(2048) PATH '$[3]', content_type VARCHAR(2048) PATH '$[4]', "
             "headers LONGTEXT PATH '$[5]', hash VARCHAR(2048) PATH '$[6]', "
             "priority INT PATH '$[7]', max_attempts INT PATH '$[8]', "
             "payload LONGTEXT PATH '$[9]')) AS j) AS r"},
            {"key_pair", "k.source AS a, k.message_id AS b"},
            {"key_chosen", "k.source = s.a AND k.message_id = s.b"},
            {"key_by_time", "`{queue}_key_by_state`"},
            {"key_time", "k.last_seen"},
            {"key_is_old", "k.state = 2 AND k.last_seen <= in_before"},
            {"keys_last", "in_older_us"},
            {"purge_history", ""},
            {"first_seen", "k.first_seen"},
            {"error_required", "in_error IS NULL"},
            {"dead_keys", "(SELECT COUNT(*) FROM {key} AS k WHERE k.state = 3 AND k.seq IS NULL)"},
            {"seen_keys", "(SELECT COUNT(*) FROM {key} AS k WHERE k.state = 4)"}};
}

// Drops the routines that are no more. One whose parameters change gets a new name and its old name
// comes here: routines are replaced one by one while others call them, and whoever was written for
// the old parameters finds the old one until all of them are replaced. Where there are such, calls
// that began before that are given a second to end.
std::string retired_text(Queue queue) {
    std::vector<std::string_view> names{"choose",      "lease_some", "lease_waiting",
                                        "lease_lined", "add_leases", "lock_fresh",
                                        "do_read",     "do_retry",   "do_fail"};
    if (queue == Queue::outbox)
        names.insert(names.end(), {"store", "do_enqueue", "lock_keys"});
    else
        names.insert(names.end(), {"take_in", "do_receive", "lock_content", "take_in_message"});
    std::string drops;
    std::string literals;
    for (const std::string_view name : names) {
        drops += fmt::format("DROP PROCEDURE IF EXISTS {{{}}};\n", name);
        literals += fmt::format("{}'{{queue}}_{}'", literals.empty() ? "" : ", ", name);
    }
    return fmt::format(
        "DO (SELECT SLEEP(1) FROM information_schema.ROUTINES AS r WHERE r.ROUTINE_SCHEMA = "
        "DATABASE() AND r.ROUTINE_NAME IN ({}) LIMIT 1);\n{}",
        literals, drops);
}

std::string columns_of_row(RowPlace place, Queue queue, RowUse use) {
    std::string out;
    for (const Field& field : message_fields) {
        const bool of_lease = !field.is_in(in_row) || &field >= &field_of(FieldIndex::lease_id);
        if (use == RowUse::resting && of_lease) continue;
        out += fmt::format("{}{} AS {}", out.empty() ? "" : ", ",
                           row_text(field, place, queue, use), field.name);
    }
    return out;
}

// With the columns that tools ask for by other names.
std::string resting_row(RowPlace place, Queue queue) {
    const auto text_of = [&](FieldIndex index) {
        return row_text(field_of(index), place, queue, RowUse::resting);
    };
    return fmt::format("{0}, {1} = 2 AS is_processed, {2} AS next_attempt_at, {1} AS status",
                       columns_of_row(place, queue, RowUse::resting), text_of(FieldIndex::state),
                       text_of(FieldIndex::available_at));
}

Phrases phrases_of(Queue queue) {
    Phrases out = common_phrases();
    out.merge(queue == Queue::outbox ? outbox_phrases() : inbox_phrases());
    const RowPlace past = queue == Queue::outbox ? RowPlace::done : RowPlace::key;
    out["leased_live"] = columns_of_row(RowPlace::live, queue, RowUse::leased);
    out["leased_waiting"] = columns_of_row(RowPlace::waiting, queue, RowUse::leased);
    out["resting_live"] = resting_row(RowPlace::live, queue);
    out["resting_waiting"] = resting_row(RowPlace::waiting, queue);
    out["documented"] = fmt::format("{} AS status_name, v.retry_count AS attempt{}",
                                    in_ascii(sql::state_word(queue, "v.state")),
                                    queue == Queue::inbox ? ", v.created_at AS first_seen" : "");
    out["retired"] = retired_text(queue);
    out["resting_past"] = resting_row(past, queue);
    return out;
}

std::string type_of(const Field& field) {
    switch (field.kind) {
        case FieldKind::integer:
            return "BIGINT";
        case FieldKind::time:
            return "DATETIME(6)";
        case FieldKind::bytes:
            return "LONGBLOB";
        case FieldKind::headers:
            return "LONGTEXT CHARACTER SET utf8mb4";
        case FieldKind::uuid:
            return "BINARY(16)";
        default:
            return "VARBINARY(1024)";
    }
}

// An array of integers has zero for none.
std::string bound_text(const Field& field) {
    const bool may_be_none = field.kind == FieldKind::integer && field.otherwise.empty() &&
                             &field != &field_of(FieldIndex::nonce);
    return fmt::format(fmt::runtime(may_be_none ? "NULLIF(:{}, 0)" : ":{}"), field.name);
}

std::string quoted_name(std::string_view name) { return fmt::format("`{}`", name); }

// The schema is the same text for all servers, in comments that only one of the two engines reads.
// MariaDB replaces a procedure at once, and drops one that never is; MySQL drops it and creates it.
std::string define_text(std::string_view kind, const std::string& name) {
    if (kind == "view") return fmt::format("CREATE OR REPLACE VIEW {}", name);
    return fmt::format(
        "DROP PROCEDURE IF EXISTS /*!80000 {0} */ /*M! `postroom_nothing` */ //\n"
        "CREATE /*M! OR REPLACE */ PROCEDURE {0}",
        name);
}

}  // namespace

sql::Vocabulary make_vocabulary() {
    return {
        // A schema is a database here: the one of the connection.
        .qualify = [](const base::Identifier&, std::string_view name) { return quoted_name(name); },
        .quoted = &quoted_name,
        .fields = {.type = &type_of,
                   .bound = &bound_text,
                   .row_value =
                       [](const Field& field, RowPlace place, Queue queue) {
                           return fmt::format("{} AS {}",
                                              row_text(field, place, queue, RowUse::shown),
                                              field.name);
                       }},
        .phrases = &phrases_of,
        .define = &define_text};
}

}  // namespace postroom::mysql
