#include "backends/sqlite/dialect.hpp"

#include <span>
#include <string>

#include <fmt/format.h>

#include "backends/sqlite/fragments.hpp"
#include "backends/sqlite/render.hpp"

namespace postroom::sqlite {

// Generated from the folder migrations/.
std::span<const sql::EmbeddedMigration> migrations();

namespace {

// SQLite has no schemas, only files; names were checked to hold nothing that needs escaping.
std::string qualify(const base::Identifier& /*schema*/, std::string_view name) {
    return fmt::format("\"{}\"", name);
}

constexpr std::string_view migration_table = R"(CREATE TABLE IF NOT EXISTS "postroom_migration" (
    name       TEXT PRIMARY KEY,
    number     INTEGER NOT NULL,
    checksum   TEXT NOT NULL,
    applied_at INTEGER NOT NULL DEFAULT @now
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
                    q.queue || '_key', q.queue || '_status', q.queue || '_paused')
 AND substr(s.name, 1, length(q.queue)) = q.queue AND s.sql IS NOT NULL
ORDER BY s.name)";

}  // namespace

sql::Dialect make_dialect() {
    return {.name = "SQLite",
            .placeholder = sql::Placeholder::question,
            .qualify = qualify,
            .outbox_queue = queue_texts(Queue::outbox),
            .inbox_queue = queue_texts(Queue::inbox),
            .outbox = outbox_texts(),
            .inbox = inbox_texts(),
            .foreign = foreign_texts(),
            .exams = exam_texts(),
            .now = weave("SELECT @now"),
            .render = &render_value,
            .in_array = "{column} IN (SELECT value FROM json_each(:{param}))",
            .migrations = migrations(),
            .migration_table = weave(migration_table),
            .migration_lock = "",  // BEGIN IMMEDIATE is the lock
            .catalog = std::string(catalog)};
}

}  // namespace postroom::sqlite
