#include "backends/sqlserver/dialect.hpp"

namespace postroom::sqlserver {

// A schema must be made in a batch of its own.
const char* const migration_table_text = R"(
IF SCHEMA_ID({schema_name}) IS NULL EXEC(N'CREATE SCHEMA {schema}')
GO
IF OBJECT_ID(N'{schema}.[postroom_migration]') IS NULL
CREATE TABLE {schema}.[postroom_migration] (
    number     INT NOT NULL,
    name       NVARCHAR(191) NOT NULL PRIMARY KEY,
    checksum   NVARCHAR(64) NOT NULL,
    applied_at DATETIME2(6) NOT NULL DEFAULT SYSUTCDATETIME()
)
GO
IF OBJECT_ID(N'{schema}.[postroom_object]') IS NULL
CREATE TABLE {schema}.[postroom_object] (
    object     NVARCHAR(400) NOT NULL PRIMARY KEY,
    definition NVARCHAR(MAX) NOT NULL
)
GO
)";

const char* const migration_lock_text = R"(
DECLARE @locked INT;
EXEC @locked = sp_getapplock @Resource = N'postroom {schema} deployment', @LockMode = 'Exclusive', @LockOwner = 'Transaction';
SELECT CASE WHEN @locked < 0 THEN 0 ELSE 1 END)";

// Whose objects are ours is told by the applied migrations, "0001_queue_tables (outbox)": several
// pairs of queues may share a schema.
const char* const catalog_text = R"(
SELECT CONCAT(CASE o.type WHEN 'U' THEN N'table ' WHEN 'V' THEN N'view ' ELSE N'routine ' END, o.name) AS object,
       CASE o.type WHEN 'U' THEN CONCAT((SELECT COUNT(*) FROM sys.columns AS c WHERE c.object_id = o.object_id), N' columns')
                   ELSE (SELECT d.definition FROM sys.sql_modules AS d WHERE d.object_id = o.object_id) END AS definition
  FROM sys.objects AS o
 WHERE o.schema_id = SCHEMA_ID({schema_name}) AND o.type IN ('U', 'V', 'P', 'FN')
   AND EXISTS (SELECT 1 FROM {schema}.[postroom_migration] AS q WHERE {is_of_queue})
UNION ALL
SELECT CONCAT(N'column ', o.name, N'.', c.name), CONCAT(TYPE_NAME(c.user_type_id), N' ', c.max_length, N' ', c.is_nullable)
  FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id
 WHERE o.schema_id = SCHEMA_ID({schema_name}) AND o.type = 'U'
   AND EXISTS (SELECT 1 FROM {schema}.[postroom_migration] AS q WHERE {is_of_queue})
UNION ALL
SELECT CONCAT(N'index ', i.name, N' of ', o.name), CONCAT(i.type_desc, N' ', i.is_unique)
  FROM sys.indexes AS i JOIN sys.objects AS o ON o.object_id = i.object_id
 WHERE o.schema_id = SCHEMA_ID({schema_name}) AND o.type = 'U' AND i.name IS NOT NULL
   AND EXISTS (SELECT 1 FROM {schema}.[postroom_migration] AS q WHERE {is_of_queue}))";

}  // namespace postroom::sqlserver
