#include "backends/mysql/dialect.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "backends/mysql/catalog.hpp"
#include "backends/mysql/render.hpp"
#include "backends/mysql/vocabulary.hpp"

namespace postroom::mysql {

// Generated from the folders schema/ and routines/.
std::span<const sql::EmbeddedMigration> schema_files();
std::span<const sql::EmbeddedRoutines> routine_files();

namespace {

// By the part of their names behind the queue, "10_upkeep": procedures are replaced one by one
// while others call them, so whatever is called comes first.
std::span<const sql::EmbeddedRoutines> ordered_routines() {
    static const std::vector<sql::EmbeddedRoutines> ordered = [] {
        std::vector<sql::EmbeddedRoutines> out(routine_files().begin(), routine_files().end());
        std::ranges::stable_sort(out, {}, [](const sql::EmbeddedRoutines& file) {
            return file.name.substr(file.name.find('_'));
        });
        return out;
    }();
    return ordered;
}

sql::UnitText call(std::string statement) {
    return {.statements = {std::move(statement)}, .traits = {.compound = true}};
}

// A procedure that is a transaction by itself where none is open.
sql::UnitText own_call(std::string statement) {
    return {.statements = {std::move(statement)},
            .traits = {.compound = true, .own_transaction = true}};
}

// Leases of messages that are gone are few and short-lived. What is born leased is among the
// newest. Of more than {counted_max} that wait, the first stand for all of them, and the engine
// tells about how many there are; dead ones are counted one by one up to that. In the inbox a
// message may have been heard of long before it was queued.
constexpr const char* counts_text = R"(SELECT
       GREATEST(0, v.total + w.ready - p.leased - b.born), p.leased + b.born, w.dead + {dead_keys}, {seen_keys},
       w.retrying, LEAST(COALESCE(v.oldest, w.oldest), COALESCE(w.oldest, v.oldest)),
       GREATEST(v.estimated, w.estimated), w.old_failures
  FROM (SELECT c.n + IF(c.n = {counted_max}, (SELECT MAX(h.seq) FROM {live} AS h) - c.last, 0) AS total,
               c.oldest, c.n = {counted_max} AS estimated
          FROM (SELECT COUNT(*) AS n, MAX(f.seq) AS last, MIN(f.at) AS oldest
                  FROM (SELECT m.seq, {first_seen} AS at FROM {live} AS m{with_key}
                         ORDER BY m.seq LIMIT {counted_max}) AS f) AS c) AS v,
       (SELECT COUNT(*) AS born
          FROM (SELECT n.seq, n.born_until FROM {live} AS n ORDER BY n.seq DESC LIMIT {counted_max}) AS m
         WHERE m.born_until > UTC_TIMESTAMP(6) AND NOT EXISTS (SELECT 1 FROM {lease} AS l WHERE l.seq = m.seq)) AS b,
       (SELECT CAST(ROUND(c.ready * c.times) AS SIGNED) AS ready, CAST(ROUND(c.retrying * c.times) AS SIGNED) AS retrying,
               CAST(ROUND(c.old_failures * c.times) AS SIGNED) AS old_failures,
               IF(c.dead_counted < {counted_max}, c.dead_counted, CAST(ROUND(c.dead * c.times) AS SIGNED)) AS dead,
               c.oldest, c.n = {counted_max} AS estimated
          FROM (SELECT COUNT(*) AS n, COUNT(IF(f.state = 0, 1, NULL)) AS ready, COUNT(IF(f.state = 3, 1, NULL)) AS dead,
                       COUNT(IF(f.state = 0 AND f.retry_count > 0, 1, NULL)) AS retrying,
                       COUNT(IF(f.state = 0 AND f.retry_count >= :old_attempts, 1, NULL)) AS old_failures,
                       MIN(IF(f.state = 0, f.at, NULL)) AS oldest,
                       IF(COUNT(*) < {counted_max}, 1, GREATEST(1, (
                           SELECT t.TABLE_ROWS / {counted_max} FROM information_schema.TABLES AS t
                            WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = '{queue}_waiting'))) AS times,
                       (SELECT COUNT(*) FROM (SELECT d.seq FROM {waiting} AS d WHERE d.lane = 4 LIMIT {counted_max}) AS d)
                           AS dead_counted
                  FROM (SELECT m.seq, m.state, m.retry_count, {first_seen} AS at FROM {waiting} AS m{with_key}
                         ORDER BY m.seq LIMIT {counted_max}) AS f) AS c) AS w,
       (SELECT COUNT(*) AS leased FROM {lease} AS l WHERE l.locked_until > UTC_TIMESTAMP(6)) AS p)";

constexpr const char* blocking_text = R"(seq IN (
    SELECT b.seq FROM {waiting} AS b
     WHERE b.ordering_key IS NOT NULL AND b.frees_key = 0 AND (b.state = 3 OR b.retry_count > 0)
       AND NOT EXISTS (SELECT 1 FROM {waiting} AS e
                        WHERE e.ordering_key = b.ordering_key AND e.frees_key = 0 AND e.seq < b.seq)
       AND EXISTS (SELECT 1 FROM {waiting} AS n
                    WHERE n.ordering_key = b.ordering_key AND n.frees_key = 0 AND n.state = 0
                      AND n.seq > b.seq)))";

// The rules are in the procedures; these are their calls.
constexpr StateSet fresh_states{State::ready, State::in_progress};

std::vector<sql::FindText> find_texts(Queue queue) {
    const sql::FindText past =
        queue == Queue::outbox
            ? sql::FindText("SELECT {columns:row} FROM {in_past}", State::done).without_errors()
            : sql::FindText("SELECT {columns:row} FROM {in_past}", {},
                            sql::FindText::Numbers::none);
    return {sql::FindText("SELECT {columns:row} FROM {in_live}", fresh_states).fresh(),
            {"SELECT {columns:row} FROM {in_waiting}", open_states},
            past};
}

std::vector<sql::NumbersText> numbers(Queue queue) {
    std::vector<sql::NumbersText> tables{
        {sql::FindText("SELECT seq FROM {live} WHERE seq > 0", fresh_states).fresh()},
        {{"SELECT seq FROM {waiting} WHERE seq > 0", open_states}}};
    if (queue == Queue::outbox)
        tables.push_back(
            {sql::FindText("SELECT seq FROM {done} WHERE seq > 0", State::done).without_errors()});
    return tables;
}

sql::QueueTexts queue_texts(Queue queue) {
    return {// Commits by itself, before the messages are read.
            .claim =
                {.statements = {"CALL {do_claim_within}(:owner, :lease_id, :lease_us, :batch, "
                                ":urgent_to, :keyed_to, :due_to, :low_to, :keyed_again_to, :bytes, "
                                ":bytes_of_one)"},
                 .separate = true,
                 .traits = {.compound = true}},
            .ack = {.group =
                        own_call("CALL {do_ack}(:seqs, :nonces, :lease_id, :owner, :keep_history)"),
                    .rows = own_call("CALL {do_ack_rows}(:rows, :owner, :keep_history)")},
            .retry = call("CALL {do_give_back}(:seq, :nonce, :lease_id, :error, :delay_us, "
                          ":count_attempt, :max_attempts, :frees_key, :attempt)"),
            .fail = call("CALL {do_kill}(:seq, :nonce, :lease_id, :error, :reason, :frees_key, "
                         ":attempt)"),
            .extend = call("CALL {do_extend}(:seqs, :nonces, :lease_id, :owner, :lease_us)"),
            .reap = call("CALL {do_reap}(:limit)"),
            .redrive = call("CALL {do_redrive}(:seqs, :nonces)"),
            .retry_now = call("CALL {do_retry_now}(:seqs, :nonces)"),
            .hold = {.statements = {"CALL {do_hold}(:seqs, :nonces, :lease_id, :owner, :lease_us)"},
                     .separate = true,
                     .traits = {.compound = true}},
            .purge = call("CALL {do_purge}(:older_us, :window_us, :batch)"),
            .counts = {.statements = {counts_text}},
            .claimable_in = {},
            .find = find_texts(queue),
            .numbers = numbers(queue),
            .blocking = blocking_text};
}

std::string insert_text(std::string_view row, bool returning) {
    return fmt::format(
        "INSERT INTO {{live}} ({{columns:enqueue}}, owner, lease_id, born_until) VALUES {}{}", row,
        returning ? " RETURNING seq, 0, nonce" : "");
}

constexpr std::string_view row_values =
    "({bound:enqueue}, :born_owner, :born_lease_id, UTC_TIMESTAMP(6) + INTERVAL :born_us "
    "MICROSECOND)";

// The options are a JSON object of texts: what is bound as bytes is told to be UTF-8.
std::string as_writer_text() {
    constexpr std::array texts{"correlation_id", "tenant_id",    "ordering_key",   "content_type",
                               "message_id",     "aggregate_id", "aggregate_type", "due_time",
                               "expires_at",     "occurred_at"};
    std::string options = "'idempotency_key', CONVERT(:key USING utf8mb4)";
    for (const char* const name : texts)
        options += fmt::format(", '{0}', CONVERT(:{0} USING utf8mb4)", name);
    return fmt::format(
        "CALL {{enqueue_with}}(:topic, :payload, JSON_OBJECT({}, 'priority', :priority, "
        "'max_attempts', NULLIF(:max_attempts, 0), "
        "'headers', JSON_EXTRACT(CONVERT(:headers USING utf8mb4), '$')))",
        options);
}

// Whether a savepoint of the caller's is open cannot be seen, so no row counts as written at the
// top level.
sql::OutboxTexts outbox_texts(const Capabilities& capabilities) {
    sql::OutboxTexts t;
    t.statement.statements = {insert_text(row_values, false)};
    if (capabilities.insert_returning) {
        t.insert.statements = {insert_text(row_values, true)};
        t.insert_many = {.statements = {insert_text("{rows}", true)},
                         .row = std::string(row_values)};
    } else {
        t.insert.statements = {t.statement.statements.front(), "SELECT LAST_INSERT_ID(), 0"};
    }
    t.enqueue = call("CALL {do_store}({bound:enqueue}, :key, :due_time)");
    t.as_writer = call(as_writer_text());
    // A condition on the tenant before it would be no range to this optimizer, but what is distinct
    // in the beginning of an index it finds by leaps.
    t.keyed =
        "SELECT k.seq, k.nonce FROM (SELECT DISTINCT tenant_id FROM {key} FORCE INDEX (PRIMARY)) "
        "AS t "
        "STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) "
        "ON k.tenant_id = t.tenant_id AND k.idempotency_key = :message_id "
        "WHERE k.message_id = :message_id AND k.seq <> 0";
    return t;
}

sql::InboxTexts inbox_texts() {
    return {.receive = call("CALL {do_take_in}({bound:receive}, :revive)"),
            .receive_many = own_call("CALL {do_receive_many}(:rows, :nonces, :revive)"),
            .see = call("CALL {do_see}(:source, :message_id, :hash)"),
            .mark = call("CALL {do_mark}(:source, :message_id, :state, :error)")};
}

}  // namespace

sql::Dialect make_dialect(const Capabilities& capabilities) {
    return {.name = capabilities.mariadb ? "MariaDB" : "MySQL",
            .placeholder = sql::Placeholder::plain,
            .vocabulary = make_vocabulary(),
            .outbox_queue = queue_texts(Queue::outbox),
            .inbox_queue = queue_texts(Queue::inbox),
            .outbox = outbox_texts(capabilities),
            .inbox = inbox_texts(),
            .pause = {.pause = "INSERT IGNORE INTO {paused} (topic) VALUES (:topic)"},
            .restore = {.here = "CONCAT('database ', DATABASE())",
                        .can_write = "@@GLOBAL.read_only = 0"},
            .health_checks = health_checks(),
            .now = "SELECT UTC_TIMESTAMP(6)",
            .words = &words(),
            .render = &render_value,
            .in_array =
                "{column} IN (SELECT j.seq FROM JSON_TABLE(:{param}, '$[*]' COLUMNS (seq "
                "BIGINT PATH '$')) AS j)",
            .paged = &sql::paged_by_limit,
            .schema = schema_files(),
            .routines = ordered_routines(),
            .before_routines = "DELIMITER //",
            .after_routines = "DELIMITER ;\n{retired}",
            .migration_table = migration_table_text,
            .migration_lock = migration_lock_text,
            .catalog = catalog_text};
}

}  // namespace postroom::mysql
