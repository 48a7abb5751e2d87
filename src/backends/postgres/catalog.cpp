#include "backends/postgres/catalog.hpp"

namespace postroom::postgres {

// CREATE SCHEMA IF NOT EXISTS would ask for the right to create even where the schema is there.
const char* const migration_table_text = R"(
DO $$
BEGIN
    IF to_regnamespace('{schema}') IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS {schema}.postroom_migration (
    number     integer NOT NULL,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (number, name)
);
CREATE TABLE IF NOT EXISTS {schema}.postroom_object (
    object     text PRIMARY KEY,
    definition text NOT NULL
);
)";

const char* const migration_lock_text =
    "SELECT pg_advisory_xact_lock(hashtextextended('postroom migrate {schema}', 0))";

// Everything in the schema that is named after a queue which was deployed here. The partitions of
// the history come and go.
const char* const catalog_text = R"(
WITH queue AS (
    SELECT DISTINCT substring(name FROM '\((.*)\)$') AS name FROM {schema}.postroom_migration
), relation AS (
    SELECT c.* FROM pg_class c
     WHERE c.relnamespace = '{schema}'::regnamespace AND NOT c.relispartition
       AND EXISTS (SELECT FROM queue q WHERE c.relname = q.name OR starts_with(c.relname, q.name || '_'))
), routine AS (
    SELECT p.* FROM pg_proc p
     WHERE p.pronamespace = '{schema}'::regnamespace
       AND EXISTS (SELECT FROM queue q WHERE starts_with(p.proname, q.name || '_'))
)
SELECT 'table ' || r.relname,
       r.relpersistence::text || ' ' || string_agg(
           a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||
           CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END ||
           coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''), ', ' ORDER BY a.attname)
  FROM relation r
  JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE r.relkind IN ('r', 'p')
 GROUP BY r.relname, r.relpersistence
UNION ALL
SELECT 'constraint ' || r.relname || '.' || c.conname, pg_get_constraintdef(c.oid)
  FROM relation r JOIN pg_constraint c ON c.conrelid = r.oid
UNION ALL
SELECT 'type ' || t.typname, format_type(t.typbasetype, t.typtypmod) ||
       coalesce(string_agg(' ' || pg_get_constraintdef(c.oid), '' ORDER BY c.conname), '')
  FROM pg_type t LEFT JOIN pg_constraint c ON c.contypid = t.oid
 WHERE t.typtype = 'd' AND t.typnamespace = '{schema}'::regnamespace
   AND EXISTS (SELECT FROM queue q WHERE starts_with(t.typname, q.name || '_'))
 GROUP BY t.oid, t.typname, t.typbasetype, t.typtypmod
UNION ALL
SELECT 'index ' || r.relname, pg_get_indexdef(r.oid) || CASE WHEN i.indisvalid THEN '' ELSE ' (invalid)' END
  FROM relation r JOIN pg_index i ON i.indexrelid = r.oid
UNION ALL
SELECT 'trigger ' || r.relname || '.' || t.tgname, t.tgenabled::text || ' ' || pg_get_triggerdef(t.oid)
  FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal
UNION ALL
SELECT 'view ' || r.relname, pg_get_viewdef(r.oid) FROM relation r WHERE r.relkind = 'v'
UNION ALL
SELECT 'sequence ' || r.relname, r.relpersistence::text FROM relation r WHERE r.relkind = 'S'
UNION ALL
SELECT 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
       md5(pg_get_functiondef(p.oid))
  FROM routine p
 ORDER BY 1
)";

}  // namespace postroom::postgres
