#include "backends/mysql/catalog.hpp"

namespace postroom::mysql {

const char* const migration_table_text = R"(
CREATE TABLE IF NOT EXISTS `postroom_migration` (
    number     INT NOT NULL,
    name       VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
    checksum   VARCHAR(64) CHARACTER SET ascii NOT NULL,
    applied_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS `postroom_object` (
    object     VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
    definition LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
) ENGINE = InnoDB;
)";

// Of the session: changing a schema commits, so a lock of a transaction would not last. How long to
// wait is decided by the limit for statements; it is released with the connection. NULL, for a
// server that could not, is no lock either.
const char* const migration_lock_text =
    "SELECT COALESCE(GET_LOCK(CONCAT('postroom ', LEFT(SHA2(DATABASE(), 256), 32)), 3600), 0)";

// Whose objects are ours is told by the applied migrations, "0001_queue_tables (outbox)": several
// pairs of queues may share a database. One row for each column, since GROUP_CONCAT has a limit.
const char* const catalog_text = R"(
WITH queue AS (
    SELECT DISTINCT CONVERT(SUBSTRING_INDEX(SUBSTRING_INDEX(name, '(', -1), ')', 1) USING utf8mb4) AS name
      FROM `postroom_migration`
), ours AS (
    SELECT CONCAT(q.name, s.suffix) AS name
      FROM queue AS q
      JOIN (SELECT '' AS suffix UNION ALL SELECT '_live' UNION ALL SELECT '_waiting' UNION ALL SELECT '_lease'
            UNION ALL SELECT '_key_lease' UNION ALL SELECT '_turn' UNION ALL SELECT '_gate'
            UNION ALL SELECT '_done' UNION ALL SELECT '_key' UNION ALL SELECT '_status'
            UNION ALL SELECT '_in_live' UNION ALL SELECT '_in_waiting' UNION ALL SELECT '_in_done' UNION ALL SELECT '_in_key' UNION ALL SELECT '_paused'
            UNION ALL SELECT '_worker' UNION ALL SELECT '_audit' UNION ALL SELECT '_home') AS s
)
SELECT CONCAT('table ', c.TABLE_NAME), CONCAT(COUNT(*), ' columns')
  FROM information_schema.COLUMNS AS c
 WHERE c.TABLE_SCHEMA = DATABASE() AND CONVERT(c.TABLE_NAME USING utf8mb4) IN (SELECT name FROM ours)
 GROUP BY c.TABLE_NAME
UNION ALL
SELECT CONCAT('column ', c.TABLE_NAME, '.', c.COLUMN_NAME),
       CONCAT_WS(' ', c.COLUMN_TYPE, c.IS_NULLABLE, COALESCE(c.COLLATION_NAME, ''), COALESCE(c.COLUMN_DEFAULT, ''),
                 c.EXTRA, COALESCE(c.GENERATION_EXPRESSION, ''))
  FROM information_schema.COLUMNS AS c
 WHERE c.TABLE_SCHEMA = DATABASE() AND CONVERT(c.TABLE_NAME USING utf8mb4) IN (SELECT name FROM ours)
UNION ALL
SELECT CONCAT('index ', i.INDEX_NAME, ' of ', i.TABLE_NAME, ', column ', i.SEQ_IN_INDEX), i.COLUMN_NAME
  FROM information_schema.STATISTICS AS i
 WHERE i.TABLE_SCHEMA = DATABASE() AND CONVERT(i.TABLE_NAME USING utf8mb4) IN (SELECT name FROM ours)
UNION ALL
SELECT CONCAT('constraint ', k.CONSTRAINT_NAME), k.CHECK_CLAUSE
  FROM information_schema.CHECK_CONSTRAINTS AS k
  JOIN queue AS q ON LEFT(CONVERT(k.CONSTRAINT_NAME USING utf8mb4), CHAR_LENGTH(q.name) + 1) = CONCAT(q.name, '_')
 WHERE k.CONSTRAINT_SCHEMA = DATABASE()
UNION ALL
SELECT CONCAT('view ', v.TABLE_NAME), SHA2(v.VIEW_DEFINITION, 256)
  FROM information_schema.VIEWS AS v
 WHERE v.TABLE_SCHEMA = DATABASE() AND CONVERT(v.TABLE_NAME USING utf8mb4) IN (SELECT name FROM ours)
UNION ALL
SELECT CONCAT('procedure ', r.ROUTINE_NAME), SHA2(r.ROUTINE_DEFINITION, 256)
  FROM information_schema.ROUTINES AS r
  JOIN queue AS q ON LEFT(CONVERT(r.ROUTINE_NAME USING utf8mb4), CHAR_LENGTH(q.name) + 1) = CONCAT(q.name, '_')
 WHERE r.ROUTINE_SCHEMA = DATABASE()
ORDER BY 1
)";

}  // namespace postroom::mysql
