// The health checks of `postroom doctor` on MariaDB and MySQL.
#include <string>
#include <vector>

#include "backends/mysql/dialect.hpp"

namespace postroom::mysql {

namespace {

constexpr const char* durability = R"(
SELECT IF(@@innodb_flush_log_at_trx_commit = 1 AND (@@log_bin = 0 OR @@sync_binlog = 1), 'ok', 'warning'),
       CONCAT('innodb_flush_log_at_trx_commit ', @@innodb_flush_log_at_trx_commit, ', log_bin ', @@log_bin, ', sync_binlog ',
              @@sync_binlog,
              IF(@@innodb_flush_log_at_trx_commit = 1, ': a commit is on the disk', ': a power cut may undo the last commits')))";

// Whoever holds an old snapshot keeps the purge of InnoDB from removing the rows of delivered
// messages. It tells their beginning in the time zone of its machine.
constexpr const char* snapshots = R"(
SELECT IF(COUNT(*) = 0, 'ok', 'warning'),
       IF(COUNT(*) = 0, 'nobody holds one for longer than 5 minutes',
          CONCAT(COUNT(*), ' transactions are open for longer than 5 minutes, the oldest is that of connection ',
                 CAST(SUBSTRING_INDEX(GROUP_CONCAT(t.trx_mysql_thread_id ORDER BY t.trx_started), ',', 1) AS CHAR),
                 ' since ', TIMESTAMPDIFF(MINUTE, MIN(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00')), UTC_TIMESTAMP()), ' minutes: old rows stay until it ends'))
  FROM information_schema.INNODB_TRX AS t
 WHERE CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00') < UTC_TIMESTAMP() - INTERVAL 5 MINUTE)";

}  // namespace

std::vector<sql::HealthCheckText> health_checks() {
    return {
        {.name = "durability", .text = durability},
        {.name = "old snapshots", .text = snapshots},
        {.name = "claim plan",
         .text = "EXPLAIN SELECT m.seq FROM {live} AS m LEFT JOIN {lease} AS l ON l.seq = m.seq "
                 "WHERE m.seq >= 1 AND l.seq IS NULL ORDER BY m.seq LIMIT 50",
         .unwanted = "filesort"}};
}

}  // namespace postroom::mysql
