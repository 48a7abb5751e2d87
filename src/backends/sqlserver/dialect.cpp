#include "backends/sqlserver/dialect.hpp"

#include <span>

#include <fmt/format.h>

#include "backends/sqlserver/vocabulary.hpp"
#include "sql/plain_value.hpp"
#include "sql/utc_text.hpp"

namespace postroom::sqlserver {

// Generated from the folders schema/ and routines/.
std::span<const sql::EmbeddedMigration> schema_files();
std::span<const sql::EmbeddedRoutines> routine_files();

namespace {

sql::UnitText one(std::string statement) { return {.statements = {std::move(statement)}}; }

// A procedure that is a transaction by itself where none is open.
sql::UnitText call(std::string statement) {
    return {.statements = {std::move(statement)},
            .traits = {.compound = true, .own_transaction = true}};
}

// Each part goes through an index that holds just what it counts.
constexpr const char* counts_text = R"(SELECT
       f.n + f.beyond + w.n + l.expired, l.standing, d.n, s.n, r.n,
       (SELECT MIN(o.at) FROM (SELECT f.oldest AS at UNION ALL SELECT w.oldest UNION ALL SELECT l.oldest) AS o),
       CASE WHEN f.n = {counted_max} THEN 1 ELSE 0 END, r.old
  FROM (SELECT c.n, c.oldest, CASE WHEN c.n = {counted_max}
                                   THEN (SELECT MAX(h.seq) FROM {message} AS h WHERE {is_fresh}) - c.last ELSE 0 END AS beyond
          FROM (SELECT COUNT(*) AS n, MAX(m.seq) AS last, MIN(m.created_at) AS oldest
                  FROM (SELECT TOP ({counted_max}) h.seq, h.created_at FROM {message} AS h WHERE {is_fresh}
                         ORDER BY h.seq) AS m) AS c) AS f,
       (SELECT COUNT(*) AS n, MIN(h.created_at) AS oldest
          FROM {message} AS h WHERE h.state = 0 AND h.queued = 1 AND (h.waits = 1 OR h.ordering_key IS NOT NULL)) AS w,
       (SELECT COALESCE(SUM(CASE WHEN h.locked_until > SYSUTCDATETIME() THEN 1 ELSE 0 END), 0) AS standing,
               COALESCE(SUM(CASE WHEN h.locked_until > SYSUTCDATETIME() THEN 0 ELSE 1 END), 0) AS expired,
               MIN(h.created_at) AS oldest
          FROM {message} AS h WHERE h.lease_id IS NOT NULL AND h.state = 1) AS l,
       (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN h.retry_count >= :old_attempts THEN 1 ELSE 0 END), 0) AS old
          FROM {message} AS h WHERE h.retry_count > 0 AND h.queued = 1 AND h.state IN (0, 1)) AS r,
       (SELECT COUNT(*) AS n FROM {message} AS h WHERE h.state = 3) AS d,
       (SELECT COUNT(*) AS n FROM {message} AS h WHERE h.state = 4) AS s)";

constexpr const char* blocking_text = R"(seq IN (
    SELECT m.seq FROM {message} AS m
     WHERE m.queued = 1 AND m.ordering_key IS NOT NULL AND m.frees_key = 0
       AND (m.state = 3 OR (m.state IN (0, 1) AND m.retry_count > 0))
       AND NOT EXISTS (SELECT 1 FROM {message} AS b WHERE {of_same_line} AND b.seq < m.seq)
       AND EXISTS (SELECT 1 FROM {message} AS b WHERE {of_same_line} AND b.state IN (0, 1) AND b.seq > m.seq)))";

sql::QueueTexts queue_texts(Queue queue) {
    sql::QueueTexts t;
    // Commits by itself, before the messages are read.
    t.claim = call(
        "EXEC {do_claim} :owner, :lease_id, :lease_us, :batch, :urgent_to, :keyed_to, "
        ":due_to, :low_to, :keyed_again_to, :bytes, :bytes_of_one");
    t.claim.separate = true;
    t.held = one("SELECT seq, nonce FROM {message} WHERE lease_id = :lease_id ORDER BY seq");
    t.ack.group = call("EXEC {finish} :seqs, :nonces, :lease_id, :owner_text, :keep_history");
    t.retry = call(
        "EXEC {do_retry} :seq, :nonce, :lease_id, :error, :delay_us, :count_attempt, "
        ":max_attempts, :frees_key, :attempt");
    t.fail = call("EXEC {do_fail} :seq, :nonce, :lease_id, :error, :reason, :frees_key, :attempt");
    t.extend = one("EXEC {do_extend} :seqs, :nonces, :lease_id, :lease_us");
    t.reap = call("EXEC {do_reap} :limit");
    t.retry_now = one("EXEC {do_retry_now} :seqs, :nonces");
    t.attempts =
        "SELECT attempts FROM {message} WHERE seq = :seq AND nonce = :nonce AND attempts IS NOT "
        "NULL";
    t.redrive = one("EXEC {do_redrive} :seqs, :nonces");
    t.hold = one("EXEC {do_hold} :seqs, :nonces, :lease_id, :owner, :lease_us");
    t.hold.separate = true;
    t.purge = call("EXEC {do_purge} :older_us, :window_us, :batch");
    t.counts = one(counts_text);
    t.find = {"SELECT {columns:row} FROM {in_queue}"};
    if (queue == Queue::inbox) t.find.emplace_back("SELECT {columns:row} FROM {in_memory}");
    t.numbers.push_back({sql::FindText("SELECT seq FROM {message} WHERE queued = 1")});
    t.blocking = blocking_text;
    return t;
}

// Whether a savepoint of the caller's is open cannot be seen, so no row counts as written at the
// top level.
sql::OutboxTexts outbox_texts() {
    sql::OutboxTexts t;
    t.insert =
        one("INSERT INTO {message} ({columns:enqueue}, state, owner, lease_id, locked_until) "
            "OUTPUT inserted.seq, 0 VALUES ({bound:enqueue}, CASE WHEN :born_lease_id IS NULL THEN "
            "0 ELSE 1 "
            "END, :born_owner, :born_lease_id, {later}(SYSUTCDATETIME(), :born_us))");
    t.insert_packed =
        one("EXEC {do_insert} :messages, :payloads, :born_owner, :born_lease_id, :born_us");
    t.enqueue =
        call("EXEC {do_store} " +
             sql::field_list(in_enqueue,
                             [](const Field& field) { return fmt::format(":{}", field.name); }) +
             ", :key, :due_time");
    t.statement = one("INSERT INTO {message} ({columns:enqueue}) VALUES ({bound:enqueue})");
    // Keys are found by the hash of tenant and key, and nothing leads from tenant to tenant: reads
    // all of them.
    t.keyed =
        "SELECT seq, nonce FROM {key} WHERE idempotency_key = :message_id "
        "AND message_id = :message_id AND seq <> 0";
    return t;
}

sql::InboxTexts inbox_texts() {
    return {
        .keyed = "SELECT seq, nonce FROM {message} WHERE message_id = :message_id AND queued = 1",
        .receive = call(
            "EXEC {do_receive} " +
            sql::field_list(in_receive,
                            [](const Field& field) { return fmt::format(":{}", field.name); }) +
            ", :revive"),
        .see = call("EXEC {do_see} :source, :message_id, :hash"),
        .mark = call("EXEC {do_mark} :source, :message_id, :state, :error")};
}

// A part finds no more than the whole may have; of several, the union is cut again.
std::string paged(const std::vector<std::string>& selects, std::string_view order) {
    constexpr std::string_view select = "SELECT ";
    const auto first = [&](const std::string& text) {
        return fmt::format("SELECT TOP (:limit) {} ORDER BY {}", text.substr(select.size()), order);
    };
    if (selects.size() == 1) return first(selects.front());
    std::string parts;
    for (const std::string& text : selects)
        parts += fmt::format("{}SELECT * FROM ({}) AS part", parts.empty() ? "" : " UNION ALL ",
                             first(text));
    return first(fmt::format("SELECT * FROM ({}) AS whole", parts));
}

}  // namespace

sql::Dialect make_dialect() {
    return {
        .name = "SQL Server",
        .placeholder = sql::Placeholder::plain,
        .vocabulary = make_vocabulary(),
        .outbox_queue = queue_texts(Queue::outbox),
        .inbox_queue = queue_texts(Queue::inbox),
        .outbox = outbox_texts(),
        .inbox = inbox_texts(),
        .pause = {.pause =
                      "INSERT INTO {paused} (topic_hash, topic) SELECT h.hash, :topic FROM "
                      "(SELECT {hash_of}(N'', :topic) AS hash) AS h WHERE NOT EXISTS (SELECT 1 "
                      "FROM {paused} AS p WITH (UPDLOCK, HOLDLOCK) WHERE p.topic_hash = h.hash)",
                  .resume = "DELETE FROM {paused} WHERE topic_hash = {hash_of}(N'', :topic)"},
        .restore = {.here = "CONCAT(N'database ', DB_NAME())",
                    .can_write = "ISNULL(CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS "
                                 "NVARCHAR(20)), N'') <> N'READ_ONLY'"},
        .health_checks = health_checks(),
        .now = "SELECT CAST(SYSUTCDATETIME() AS DATETIME2(6))",
        .words = &words(),
        .render =
            [](const sql::Value& value) {
                return sql::plain_value(value,
                                        [](Instant time) { return SqlValue{sql::utc_text(time)}; });
            },
        .in_array =
            "{column} IN (SELECT CAST(s.value AS BIGINT) FROM OPENJSON(CAST(:{param} AS "
            "NVARCHAR(MAX))) AS s)",
        .contains =
            "CHARINDEX(CAST(:{param} AS NVARCHAR(4000)) COLLATE Latin1_General_100_BIN2, "
            "{column} COLLATE Latin1_General_100_BIN2) > 0",
        .equals =
            "({column} = CAST(:{param} AS NVARCHAR(510)) AND DATALENGTH({column}) = "
            "DATALENGTH(CAST(:{param} AS NVARCHAR(510))))",
        .empty = "DATALENGTH({column}) = 0",
        .payload_bytes = "DATALENGTH(payload)",
        .paged = &paged,
        .schema = schema_files(),
        .routines = routine_files(),
        .before_routines = "DROP VIEW IF EXISTS {view}\nGO",  // it calls functions
        .after_routines = "GO\n",
        .migration_table = migration_table_text,
        .migration_lock = migration_lock_text,
        .catalog = catalog_text};
}

}  // namespace postroom::sqlserver
