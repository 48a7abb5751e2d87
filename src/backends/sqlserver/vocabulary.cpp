#include "backends/sqlserver/vocabulary.hpp"

#include <string>

#include <fmt/format.h>

#include "sql/ulid_text.hpp"

namespace postroom::sqlserver {

namespace {

using sql::Phrases;
using sql::RowPlace;

bool is(const Field& field, FieldIndex index) { return &field == &field_of(index); }

std::string type_of(const Field& field) {
    switch (field.kind) {
        case FieldKind::integer:
            return "BIGINT";
        case FieldKind::time:
            return "DATETIME2(6)";
        case FieldKind::uuid:
            return "BINARY(16)";
        case FieldKind::bytes:
            return is(field, FieldIndex::payload) ? "VARBINARY(MAX)" : "VARBINARY(1024)";
        case FieldKind::headers:
            return "NVARCHAR(MAX)";
        default:
            return is(field, FieldIndex::last_error) ? "NVARCHAR(MAX)" : "NVARCHAR(510)";
    }
}

// What there is to show where the content is gone.
std::string absent(const Field& field) {
    switch (field.kind) {
        case FieldKind::integer:
            return field.otherwise.empty() ? "NULL" : std::string(field.otherwise);
        case FieldKind::word:
            return "N''";
        case FieldKind::bytes:
            return "0x";
        case FieldKind::time:
            return "CAST(NULL AS DATETIME2(6))";
        case FieldKind::uuid:
            return "CAST(NULL AS BINARY(16))";
        default:
            return "CAST(NULL AS NVARCHAR(510))";
    }
}

// Of messages that are remembered; their content only if they are done.
bool is_remembered(const Field& field) {
    for (const FieldIndex index :
         {FieldIndex::message_id, FieldIndex::source, FieldIndex::hash, FieldIndex::topic,
          FieldIndex::created_at, FieldIndex::last_seen, FieldIndex::processed_at,
          FieldIndex::processed_by, FieldIndex::last_error, FieldIndex::dead_reason,
          FieldIndex::state, FieldIndex::retry_count, FieldIndex::content_type, FieldIndex::headers,
          FieldIndex::payload})
        if (is(field, index)) return true;
    return false;
}

std::string remembered_text(const Field& field) {
    if (is_remembered(field)) return fmt::format("m.{}", field.name);
    if (is(field, FieldIndex::available_at)) return "m.created_at";
    const bool counted = is(field, FieldIndex::seq) || is(field, FieldIndex::nonce) ||
                         is(field, FieldIndex::lost_count);
    return counted ? "CAST(0 AS BIGINT)" : absent(field);
}

// An expired lease shows as ready, with its owner. Whoever has just leased a message sees that
// lease.
enum class RowUse { shown, claimed, resting };

std::string queued_text(const Field& field, Queue queue, RowUse use) {
    const bool content = is(field, FieldIndex::payload) || is(field, FieldIndex::headers);
    // Not every server keeps the type of a text through CASE and COALESCE.
    if (content && use == RowUse::claimed)
        return fmt::format("CAST(CASE WHEN b.beyond = 0 THEN m.{} END AS {})", field.name,
                           type_of(field));
    if (is(field, FieldIndex::state)) {
        if (use == RowUse::claimed) return "m.state";
        return use == RowUse::shown
                   ? "CASE WHEN m.state = 1 AND m.locked_until <= SYSUTCDATETIME() THEN 0 ELSE "
                     "m.state END"
                   : "CASE WHEN m.state = 1 THEN 0 ELSE m.state END";
    }
    if (is(field, FieldIndex::died_at)) return "CASE WHEN m.state = 3 THEN m.died_at END";
    if (is(field, FieldIndex::idempotency_key) && queue == Queue::outbox)
        return "CAST(COALESCE(m.idempotency_key, m.message_id) AS NVARCHAR(510))";
    return fmt::format("m.{}", field.name);
}

bool is_of_lease(const Field& field) {
    return is(field, FieldIndex::lease_id) || is(field, FieldIndex::owner) ||
           is(field, FieldIndex::locked_until);
}

std::string row_list(Queue queue, RowPlace place, RowUse use) {
    std::string out;
    for (const Field& field : message_fields) {
        if (!field.is_in(in_row) || (use == RowUse::resting && is_of_lease(field))) continue;
        const std::string text =
            place == RowPlace::key ? remembered_text(field) : queued_text(field, queue, use);
        out += fmt::format("{}{} AS {}", out.empty() ? "" : ", ", text, field.name);
    }
    return out;
}

// The fields of PackedRows. JSON has no times: they come as texts.
std::string packed_fields() {
    std::string out;
    for (const Field& field : message_fields) {
        if (!field.is_in(in_enqueue) || is(field, FieldIndex::payload)) continue;
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", field.name,
                           field.kind == FieldKind::time ? "NVARCHAR(40)" : type_of(field));
    }
    return out;
}

std::string packed_value(const Field& field, std::string_view alias) {
    if (is(field, FieldIndex::payload))
        return fmt::format("SUBSTRING(@payloads, {0}.payload_at, {0}.payload_bytes)", alias);
    const std::string column = fmt::format("{}.{}", alias, field.name);
    return field.kind == FieldKind::time ? fmt::format("CAST({} AS DATETIME2(6))", column) : column;
}

// New content for a message that keeps its number.
std::string renewed_fields() {
    std::string out;
    for (const Field& field : message_fields) {
        if (!field.is_in(in_receive) || is(field, FieldIndex::nonce) || is(field, FieldIndex::hash))
            continue;
        out += fmt::format("{0}{1} = @{1}", out.empty() ? "" : ", ", field.name);
    }
    return out;
}

// A message that is only seen has nothing but its key and its hash.
std::string seen_inputs() {
    return sql::field_list(in_receive, [](const Field& field) -> std::string {
        if (is(field, FieldIndex::nonce) || is(field, FieldIndex::message_id) ||
            is(field, FieldIndex::source) || is(field, FieldIndex::hash))
            return fmt::format("@{}", field.name);
        if (is(field, FieldIndex::payload)) return "0x";
        if (field.kind == FieldKind::word) return "N''";
        return field.otherwise.empty() ? "NULL" : std::string(field.otherwise);
    });
}

// A text of at most 255 characters. LEN counts UTF-16 units and no blanks at the end. What lies
// beyond ASCII may take two units for a character, and the column itself has room for so many.
std::string fits(std::string_view column, int chars_max) {
    return fmt::format(
        "DATALENGTH({0}) > 0 AND (LEN({0} + N'.') <= {1} OR ({0} LIKE N'%[^ -~]%' AND LEN({0} + "
        "N'.') "
        "<= {2}))",
        column, chars_max + 1, 2 * chars_max + 1);
}

// Deletes what is old, in the order of `time`.
std::string purge_loop(std::string_view table, std::string_view key, std::string_view condition,
                       std::string_view time) {
    return fmt::format(
        "SET @took = 1;\n"
        "            SET @gone = 0;\n"
        "            WHILE @took > 0 AND @gone < @batch\n"
        "            BEGIN\n"
        "                SET @room = CASE WHEN @batch - @gone < 1000 THEN @batch - @gone ELSE 1000 "
        "END;\n"
        "                DELETE FROM {0} WHERE {2} AND {1} IN (SELECT TOP (@room) d.{1} FROM {0} "
        "AS d "
        "WITH ({{take}}) WHERE {2} ORDER BY d.{3});\n"
        "                SET @took = @@ROWCOUNT;\n"
        "                SET @gone = @gone + @took;\n"
        "            END\n"
        "            SET @count = @count + @gone;",
        table, key, condition, time);
}

Phrases common_phrases() {
    return {
        {"text", "NVARCHAR(510) COLLATE Latin1_General_100_BIN2"},
        {"random", "CAST(CAST(NEWID() AS BINARY(8)) AS BIGINT)"},
        {"no_escalation",
         "ALTER TABLE {message} SET (LOCK_ESCALATION = DISABLE);\n"
         "ALTER TABLE {turn} SET (LOCK_ESCALATION = DISABLE);"},
        {"schema_name", "REPLACE(REPLACE(N'{schema}', N'[', N''), N']', N'')"},
        // The object o belongs to the queue of the migration q, "0001_queue_tables (outbox)".
        {"is_of_queue",
         "o.name = {noted_queue} OR LEFT(o.name, LEN({noted_queue}) + 1) = {noted_queue} + N'_'"},
        {"noted_queue",
         "SUBSTRING(q.name, CHARINDEX(N'(', q.name) + 1, LEN(q.name) - CHARINDEX(N'(', q.name) - "
         "1)"},
        {"topic_fits", fits("topic", 255)},
        // What is locked is passed by, also under read-committed snapshot.
        {"take", "UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK"},
        {"no_lease", "lease_id = NULL, owner = NULL, locked_until = NULL"},
        // One of @seqs with one of @nonces. Sets suffice: nonces are random 64-bit numbers, so a
        // foreign pair of the two does not occur.
        {"these",
         "seq IN (SELECT CAST(s.value AS BIGINT) FROM OPENJSON(@seqs) AS s) "
         "AND nonce IN (SELECT CAST(n.value AS BIGINT) FROM OPENJSON(@nonces) AS n)"},
        // The procedure runs in the caller's transaction, or else in one of its own. An error ends
        // a statement and not the procedure, but for TRY.
        {"begin_unit",
         "DECLARE @own TINYINT = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;\n"
         "    BEGIN TRY\n        IF @own = 1 BEGIN TRANSACTION;"},
        {"end_unit",
         "    IF @own = 1 COMMIT;\n    END TRY\n    BEGIN CATCH\n"
         "        IF @own = 1 AND @@TRANCOUNT > 0 ROLLBACK;\n        THROW;\n    END CATCH"},
        {"lock_claims",
         "DECLARE @locked INT;\n"
         "        EXEC @locked = sp_getapplock @Resource = N'postroom {schema}.{queue} claim', "
         "@LockMode = 'Exclusive', @LockOwner = 'Transaction';\n"
         "        IF @locked < 0 THROW 51222, N'the lock of the claims was not to be had', 1;"},
        // Completed by the condition of a band and its order.
        {"lease_first",
         "UPDATE {message}\n"
         "               SET state = 1, lease_id = @lease_id, owner = @owner, locked_until = "
         "@until\n"
         "             WHERE state = 0 AND seq IN (SELECT TOP (@room) m.seq FROM {message} AS m "
         "WITH "
         "({take})\n"
         "                WHERE m.state = 0 AND m.queued = 1 AND m.available_at <= @now"},
        {"is_fresh", "h.state = 0 AND h.queued = 1 AND h.waits = 0 AND h.ordering_key IS NULL"},
        {"of_same_line",
         "b.ordering_key = m.ordering_key AND b.ordering_bytes = m.ordering_bytes AND b.queued = 1 "
         "AND b.frees_key = 0 AND b.state IN (0, 1, 3)"},
        // Not true where there is no limit.
        {"exhausted",
         "@count_attempt <> 0 AND retry_count + 1 >= COALESCE(max_attempts, NULLIF(@max_attempts, "
         "0))"},
        {"found_state",
         "CASE WHEN m.state = 1 AND m.locked_until <= SYSUTCDATETIME() THEN 0 ELSE m.state END"}};
}

// Stands in a file of the schema, so it never changes.
std::string new_message_id() {
    return "CONCAT(" +
           sql::ulid_time_text(
               "SUBSTRING(N'{0}', CAST(1 + DATEDIFF_BIG(MILLISECOND, '1970-01-01', "
               "SYSUTCDATETIME()) / {1} % 32 AS INT), 1)",
               ", ") +
           ", LEFT(CONVERT(NVARCHAR(36), NEWID()), 8), RIGHT(CONVERT(NVARCHAR(36), NEWID()), 8))";
}

// Of what the library and other languages give, and of the views.
Phrases outward_phrases() {
    return {
        {"packed_fields", packed_fields()},
        {"packed_place", "place BIGINT, payload_at BIGINT, payload_bytes BIGINT"},
        {"renewed", renewed_fields()},
        {"seen_inputs", seen_inputs()},
        // The work-item ids in @ids, without their dashes. Texts that are none are left out.
        {"given_items",
         "(SELECT h.hex FROM (SELECT LOWER(REPLACE(j.value, N'-', N'')) AS hex FROM OPENJSON(@ids) "
         "AS j) AS h WHERE LEN(h.hex) = 32 AND SUBSTRING(h.hex, 13, 1) = N'8') AS i"},
        {"bad_lease", "COALESCE(@lease_seconds, 0) <= 0 OR @lease_seconds > {lease_seconds_max}"},
        {"bad_lease_words",
         "CONCAT(N'lease: ', COALESCE(CAST(@lease_seconds AS NVARCHAR(20)), N'NULL'), "
         "N' s, must be above 0 and at most {lease_seconds_max} s')"},
        {"bad_batch", "@batch <= 0 OR @batch > {batch_max}"},
        {"bad_batch_words",
         "CONCAT(N'batch: ', COALESCE(CAST(@batch AS NVARCHAR(20)), N'NULL'), "
         "N', must be between 1 and {batch_max}')"},
        {"owner_bytes",
         "CAST(CAST({swapped}(CONVERT(NVARCHAR(36), @owner)) AS UNIQUEIDENTIFIER) AS BINARY(16))"},
        {"owner_text",
         "LOWER({swapped}(CONVERT(NVARCHAR(36), CAST(@holder AS UNIQUEIDENTIFIER))))"},
        {"not_empty_key", "CASE WHEN DATALENGTH(@idempotency_key) > 0 THEN @idempotency_key END"},
        {"new_message_id", new_message_id()},
        {"not_empty_id", "CASE WHEN DATALENGTH(@message_id) > 0 THEN @message_id END"},
        {"view_extras",
         "LOWER({swapped}(CONVERT(NVARCHAR(36), CAST(m.owner AS UNIQUEIDENTIFIER)))) AS "
         "owner_token, "
         "CASE WHEN m.state = 2 THEN 1 ELSE 0 END AS is_processed, m.available_at AS "
         "next_attempt_at, "
         "{found_state} AS "
         "status, {documented}"}};
}

Phrases phrases_of(Queue queue) {
    const bool inbox = queue == Queue::inbox;
    Phrases out = common_phrases();
    out.merge(outward_phrases());
    // An inbox message does not fail without a reason.
    out["error_missing"] = inbox ? "@error IS NULL" : "1 = 0";
    out["documented"] = fmt::format("{} AS status_name, m.retry_count AS attempt{}",
                                    sql::state_word(queue, "{found_state}"),
                                    inbox ? ", m.created_at AS first_seen" : "");
    out["claimed_row"] = row_list(queue, RowPlace::live, RowUse::claimed);
    out["resting_row"] = row_list(queue, RowPlace::live, RowUse::resting);
    out["message_id_fits"] = fits("message_id", inbox ? 255 : 36);
    out["and_memory"] =
        inbox ? "UNION ALL\nSELECT {row:key}, {view_extras} FROM {message} AS m WHERE m.queued = 0"
              : "";
    out["and_resting_memory"] = inbox ? "UNION ALL\nSELECT " +
                                            row_list(queue, RowPlace::key, RowUse::resting) +
                                            " FROM {message} AS m WHERE m.queued = 0"
                                      : "";
    // The inbox remembers what was delivered, with how often it failed; its content stays if the
    // store keeps history.
    out["is_forgotten"] = inbox ? "1 = 0" : "@keep_history = 0";
    out["set_done"] =
        inbox ? "state = 2, queued = 0, attempts = NULL, "
                "content_type = CASE WHEN @keep_history = 0 THEN N'' ELSE content_type END, "
                "headers = CASE WHEN @keep_history = 0 THEN NULL ELSE headers END, "
                "payload = CASE WHEN @keep_history = 0 THEN CAST(N'' AS VARBINARY(MAX)) ELSE "
                "payload END"
              : "state = 2, last_error = NULL";
    out["purge_messages"] =
        inbox ? purge_loop("{message}", "seq", "state = 2 AND last_seen <= @before", "last_seen")
              : purge_loop("{message}", "seq", "state = 2 AND processed_at <= @before",
                           "processed_at");
    out["purge_keys"] =
        inbox ? "" : purge_loop("{key}", "key_hash", "created_at <= @keys_before", "created_at");
    return out;
}

// Times come as texts.
std::string bound_text(const Field& field) {
    if (field.kind == FieldKind::time) return fmt::format("CAST(:{} AS DATETIME2(6))", field.name);
    return fmt::format(":{}", field.name);
}

std::string shown_text(const Field& field, RowPlace place, Queue queue) {
    return fmt::format(
        "{} AS {}",
        place == RowPlace::key ? remembered_text(field) : queued_text(field, queue, RowUse::shown),
        field.name);
}

std::string quoted_name(std::string_view name) { return fmt::format("[{}]", name); }

// Nothing replaces a routine in place on every version. The deployment is one transaction, so
// nobody sees it gone.
std::string define_text(std::string_view kind, const std::string& name) {
    return fmt::format("DROP {0} IF EXISTS {1}\nGO\nCREATE {0} {1}", kind, name);
}

}  // namespace

sql::Vocabulary make_vocabulary() {
    return {.input = "@",
            .qualify =
                [](const base::Identifier& schema, std::string_view name) {
                    return fmt::format("[{}].[{}]", schema.str(), name);
                },
            .quoted = &quoted_name,
            .fields = {.type = &type_of,
                       .bound = &bound_text,
                       .value = &packed_value,
                       .row_value = &shown_text},
            .phrases = &phrases_of,
            .define = &define_text};
}

}  // namespace postroom::sqlserver
