#include "backends/mysql/dialect.hpp"

#include <span>

#include <fmt/format.h>

#include "backends/mysql/catalog.hpp"
#include "backends/mysql/render.hpp"
#include "sql/message_row.hpp"

namespace postroom::mysql {

// Generated from the folder migrations/.
std::span<const sql::EmbeddedMigration> migrations();

namespace {

sql::UnitText one(std::string statement) {
    return {.statements = {std::move(statement)}, .separate = false};
}

// Counted by scanning: exact, and the same on every engine. Leases of messages that are gone are
// few and short-lived.
constexpr const char* counts_text = R"(SELECT
       GREATEST(0, v.total + w.ready - p.leased - v.born), p.leased + v.born, w.dead + {}, {}, w.retrying,
       o.oldest
  FROM (SELECT COUNT(*) AS total,
               COUNT(IF(m.born_until > UTC_TIMESTAMP(6)
                        AND NOT EXISTS (SELECT 1 FROM {{lease}} AS l WHERE l.seq = m.seq), 1, NULL)) AS born
          FROM {{live}} AS m) AS v,
       (SELECT COUNT(IF(m.state = 0, 1, NULL)) AS ready, COUNT(IF(m.state = 3, 1, NULL)) AS dead,
               COUNT(IF(m.state = 0 AND m.retry_count > 0
                        AND NOT EXISTS (SELECT 1 FROM {{lease}} AS l
                                         WHERE l.seq = m.seq AND l.locked_until > UTC_TIMESTAMP(6)),
                        1, NULL)) AS retrying
          FROM {{waiting}} AS m) AS w,
       (SELECT COUNT(*) AS leased FROM {{lease}} AS l WHERE l.locked_until > UTC_TIMESTAMP(6)) AS p,
       (SELECT MIN(d.at) AS oldest FROM (SELECT ({}) AS at UNION ALL SELECT ({})) AS d) AS o)";

std::string outbox_counts() {
    return fmt::format(fmt::runtime(counts_text), "0", "0",
                       "SELECT MIN(m.created_at) FROM {live} AS m",
                       "SELECT MIN(m.created_at) FROM {waiting} AS m WHERE m.state = 0");
}

// In the inbox a message may have been heard of long before it was queued.
std::string inbox_counts() {
    constexpr const char* join =
        "AS m JOIN {key} AS k ON k.source = m.source AND k.message_id = m.message_id";
    return fmt::format(
        fmt::runtime(counts_text),
        "(SELECT COUNT(*) FROM {key} AS k WHERE k.state = 3 AND k.seq IS NULL)",
        "(SELECT COUNT(*) FROM {key} AS k WHERE k.state = 4)",
        fmt::format("SELECT MIN(k.first_seen) FROM {{live}} {}", join),
        fmt::format("SELECT MIN(k.first_seen) FROM {{waiting}} {} WHERE m.state = 0", join));
}

constexpr const char* blocking_text = R"(seq IN (
    SELECT b.seq FROM {waiting} AS b
     WHERE b.ordering_key IS NOT NULL AND b.frees_key = 0 AND (b.state = 3 OR b.retry_count > 0)
       AND NOT EXISTS (SELECT 1 FROM {waiting} AS e
                        WHERE e.ordering_key = b.ordering_key AND e.frees_key = 0 AND e.seq < b.seq)
       AND EXISTS (SELECT 1 FROM {waiting} AS n
                    WHERE n.ordering_key = b.ordering_key AND n.frees_key = 0 AND n.state = 0
                      AND n.seq > b.seq)))";

std::string find_in(std::string_view view) {
    return fmt::format("SELECT {} FROM {{{}}}", sql::message_columns, view);
}

// The rules are in the procedures; these are their calls.
sql::QueueTexts queue_texts(Queue queue) {
    const bool outbox = queue == Queue::outbox;
    return {
        // Commits by itself, before the messages are read.
        .claim = {.statements = {"CALL {do_claim}(:owner, :lease_id, :lease_us, :batch, :turn)"},
                  .separate = true},
        .ack = one("CALL /*own*/ {do_ack}(:seqs, :nonces, :lease_id, :owner, :keep_history)"),
        .ack_rows = one("CALL /*own*/ {do_ack_rows}(:rows, :owner, :keep_history)"),
        .retry = one("CALL {do_retry}(:seq, :nonce, :lease_id, :error, :delay_us, :count_attempt, "
                     ":max_attempts, :frees_key)"),
        .fail = one("CALL {do_fail}(:seq, :nonce, :lease_id, :error, :reason, :frees_key)"),
        .extend = one("CALL {do_extend}(:seqs, :nonces, :lease_id, :owner, :lease_us)"),
        .reap = one("CALL {do_reap}(:limit)"),
        .redrive = one("CALL {do_redrive}(:seqs, :nonces)"),
        .hold = {.statements = {"CALL {do_hold}(:seqs, :nonces, :lease_id, :owner, :lease_us)"},
                 .separate = true},
        .purge = one("CALL {do_purge}(:older_us, :window_us, :batch)"),
        .counts = one(outbox ? outbox_counts() : inbox_counts()),
        .claimable_in = {},
        .find = {find_in("in_live"), find_in("in_waiting"), find_in(outbox ? "in_done" : "in_key")},
        .blocking = blocking_text};
}

std::string insert_text(std::string_view row, bool returning) {
    return fmt::format(
        "INSERT INTO {{live}} (nonce, message_id, topic, payload, content_type, headers, "
        "correlation_id, tenant_id, idempotency_key, aggregate_type, aggregate_id, occurred_at, "
        "expires_at, priority, ordering_key, max_attempts, owner, lease_id, born_until) "
        "VALUES {}{}",
        row, returning ? " RETURNING seq, 0" : "");
}

constexpr std::string_view row_text =
    "(:nonce, :message_id, :topic, :payload, :content_type, :headers, :correlation_id, :tenant_id, "
    ":idempotency_key, :aggregate_type, :aggregate_id, :occurred_at, :expires_at, :priority, "
    ":ordering_key, NULLIF(:max_attempts, 0), :born_owner, :born_lease_id, "
    "UTC_TIMESTAMP(6) + INTERVAL :born_us MICROSECOND)";

// Whether a savepoint of the caller's is open cannot be seen, so no row counts as written at the
// top level.
sql::OutboxTexts outbox_texts(const Capabilities& capabilities) {
    sql::OutboxTexts t;
    t.statement = insert_text(row_text, false);
    if (capabilities.insert_returning) {
        t.insert = one(insert_text(row_text, true));
        t.insert_many = one(insert_text(fmt::format("/*row*/{}/*row*/", row_text), true));
    } else {
        t.insert.statements = {t.statement, "SELECT LAST_INSERT_ID(), 0"};
    }
    t.enqueue =
        one("CALL {do_enqueue}(:nonce, :message_id, :topic, :payload, :content_type, :headers, "
            ":correlation_id, :tenant_id, :idempotency_key, :aggregate_type, :aggregate_id, "
            ":occurred_at, :expires_at, :priority, :ordering_key, :max_attempts, :key, :due_time)");
    return t;
}

sql::InboxTexts inbox_texts() {
    return {.receive = one("CALL {do_receive}(:nonce, :source, :message_id, :topic, :payload, "
                           ":hash, :content_type, :headers, :ordering_key, :due_time, :expires_at, "
                           ":priority, :max_attempts, :revive)"),
            .receive_many = one("CALL /*own*/ {do_receive_many}(:rows, :nonces, :revive)"),
            .see = one("CALL {do_see}(:source, :message_id, :hash)"),
            .mark = one("CALL {do_mark}(:source, :message_id, :state, :error)")};
}

}  // namespace

sql::Dialect make_dialect(const Capabilities& capabilities) {
    return {.name = capabilities.mariadb ? "MariaDB" : "MySQL",
            .placeholder = sql::Placeholder::plain,
            // A schema is a database here: the one of the connection.
            .qualify = [](const base::Identifier&,
                          std::string_view name) { return fmt::format("`{}`", name); },
            .outbox_queue = queue_texts(Queue::outbox),
            .inbox_queue = queue_texts(Queue::inbox),
            .outbox = outbox_texts(capabilities),
            .inbox = inbox_texts(),
            .pause = {.pause = "INSERT IGNORE INTO {paused} (topic) VALUES (:topic)"},
            .foreign = foreign_texts(),
            .exams = exam_texts(),
            .now = "SELECT UTC_TIMESTAMP(6)",
            .render = &render_value,
            .in_array =
                "{column} IN (SELECT j.seq FROM JSON_TABLE(:{param}, '$[*]' COLUMNS (seq "
                "BIGINT PATH '$')) AS j)",
            .migrations = migrations(),
            .migration_table = migration_table_text,
            .migration_lock = migration_lock_text,
            .catalog = catalog_text};
}

}  // namespace postroom::mysql
