// The health checks of `postroom doctor` on PostgreSQL.
#include <string>
#include <vector>

#include "backends/postgres/dialect.hpp"

namespace postroom::postgres {

namespace {

constexpr const char* durability = R"(
SELECT CASE WHEN f.fsync = 'off' OR f.pages = 'off' THEN 'bad' WHEN f.sync = 'off' THEN 'warning' ELSE 'ok' END,
       format('fsync %s, full_page_writes %s, synchronous_commit %s%s', f.fsync, f.pages, f.sync,
              CASE WHEN f.fsync = 'off' OR f.pages = 'off' THEN ': a crash may destroy the database'
                   WHEN f.sync = 'off' THEN ': a crash may undo the last commits' ELSE ': a commit is on the disk' END)
  FROM (SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
               current_setting('synchronous_commit') AS sync) f)";

// Whoever holds an old snapshot keeps VACUUM from removing the rows of delivered messages. Not what
// it runs: queries have payloads in them.
constexpr const char* snapshots = R"(
WITH held AS (
    SELECT format('session %s (user %s, application %s, %s) holds a snapshot since %s minutes: dead rows stay until it ends',
                  a.pid, a.usename, coalesce(nullif(a.application_name, ''), 'unnamed'), coalesce(a.state, 'unknown'),
                  (extract(epoch FROM clock_timestamp() - a.xact_start) / 60)::bigint) AS what, a.xact_start AS since
      FROM pg_stat_activity a
     WHERE a.backend_xmin IS NOT NULL AND a.xact_start < clock_timestamp() - interval '5 minutes'
    UNION ALL
    SELECT format('prepared transaction %s of user %s is open since %s minutes: dead rows stay until it ends', p.gid, p.owner,
                  (extract(epoch FROM clock_timestamp() - p.prepared) / 60)::bigint), p.prepared
      FROM pg_prepared_xacts p
     WHERE p.database = current_database() AND p.prepared < clock_timestamp() - interval '5 minutes'
    UNION ALL
    SELECT format('replication slot %s is not in use and holds a snapshot: dead rows stay until it moves or is dropped',
                  s.slot_name), NULL
      FROM pg_replication_slots s
     WHERE NOT s.active AND (s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL)
)
(SELECT 'warning', h.what FROM held h ORDER BY h.since LIMIT 5)
UNION ALL
SELECT 'ok', 'nobody holds one for longer than 5 minutes' WHERE NOT EXISTS (SELECT FROM held))";

constexpr const char* vacuum = R"(
SELECT CASE WHEN current_setting('autovacuum') = 'off' THEN 'warning' ELSE 'ok' END,
       format('autovacuum %s', current_setting('autovacuum')))";

}  // namespace

std::vector<sql::HealthCheckText> health_checks() {
    return {{.name = "durability", .text = durability},
            {.name = "old snapshots", .text = snapshots},
            {.name = "autovacuum", .text = vacuum},
            {.name = "claim plan",
             .text = "EXPLAIN SELECT v.seq FROM {live} v WHERE v.seq >= 1 AND (SELECT l.seq FROM "
                     "{lease} l WHERE l.seq = v.seq) IS NULL ORDER BY v.seq LIMIT 50",
             .unwanted = "Seq Scan",
             // As the claim itself: what is small today is not tomorrow.
             .before = "SET LOCAL enable_seqscan = off"}};
}

}  // namespace postroom::postgres
