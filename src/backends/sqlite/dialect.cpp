#include "backends/sqlite/dialect.hpp"

#include <span>
#include <string>

#include <fmt/format.h>

#include "backends/sqlite/vocabulary.hpp"
#include "sql/plain_value.hpp"

namespace postroom::sqlite {

// Generated from the folders schema/ and routines/.
std::span<const sql::EmbeddedMigration> schema_files();
std::span<const sql::EmbeddedRoutines> routine_files();

namespace {

SqlValue micros_of(Instant time) { return std::int64_t{time.time_since_epoch().count()}; }

constexpr std::string_view migration_table = R"(CREATE TABLE IF NOT EXISTS "postroom_migration" (
    name       TEXT PRIMARY KEY,
    number     INTEGER NOT NULL,
    checksum   TEXT NOT NULL,
    applied_at INTEGER NOT NULL DEFAULT {now}
) STRICT;
CREATE TABLE IF NOT EXISTS "postroom_object" (
    object     TEXT PRIMARY KEY,
    definition TEXT NOT NULL
) STRICT;
)";

// Whose objects are ours is told by the applied migrations, "0001_queue_tables (outbox)": several
// pairs of queues may share a file. Other tables that happen to begin with the name of a queue are
// not ours.
constexpr std::string_view catalog = R"(SELECT DISTINCT s.name, s.sql
FROM (SELECT rtrim(substr(name, instr(name, '(') + 1), ')') AS queue FROM "postroom_migration") AS q
JOIN sqlite_schema AS s
  ON s.tbl_name IN (q.queue, q.queue || '_live', q.queue || '_waiting', q.queue || '_lease', q.queue || '_done',
                    q.queue || '_key', q.queue || '_status', q.queue || '_paused', q.queue || '_worker',
                    q.queue || '_audit', q.queue || '_home')
 AND substr(s.name, 1, length(q.queue)) = q.queue AND s.sql IS NOT NULL
ORDER BY s.name)";

// SQLite takes no parentheses around a part of a union.
std::string paged(const std::vector<std::string>& selects, std::string_view order) {
    return sql::paged_by_limit(selects, order, "SELECT * FROM ");
}

}  // namespace

sql::Dialect make_dialect() {
    return {
        .name = "SQLite",
        .placeholder = sql::Placeholder::question,
        .vocabulary = vocabulary(),
        .outbox_queue = queue_texts(Queue::outbox),
        .inbox_queue = queue_texts(Queue::inbox),
        .outbox = outbox_texts(),
        .inbox = inbox_texts(),
        .pause = {.pause = "INSERT INTO {paused} (topic) VALUES (:topic) ON CONFLICT DO NOTHING"},
        // Else the connection does it when it is closed to make room for that of another store:
        // then the file is seen to change once more, and is opened again for nothing. Passive: it
        // waits for nobody.
        .records = {.come_to_rest = {.statements = {"PRAGMA wal_checkpoint(PASSIVE)"},
                                     .separate = true}},
        .health_checks = health_checks(),
        .now = "SELECT {now}",
        .words = &words(),
        .render = [](const sql::Value& value) { return sql::plain_value(value, &micros_of); },
        .in_array = "{column} IN (SELECT value FROM json_each(:{param}))",
        .paged = &paged,
        .schema = schema_files(),
        .routines = routine_files(),
        .migration_table = std::string(migration_table),
        .migration_lock = "",  // BEGIN IMMEDIATE is the lock
        .catalog = std::string(catalog)};
}

}  // namespace postroom::sqlite
