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

// What CREATE OR REPLACE cannot change in place, when the columns of the message row are others
// than before. Only then: grants on a dropped object are lost.
const char* const before_routines_text = R"(
CREATE TEMP TABLE IF NOT EXISTS postroom_grant (command text);
DELETE FROM pg_temp.postroom_grant;
INSERT INTO pg_temp.postroom_grant
SELECT format('GRANT %s ON %s TO %s', a.privilege_type, c.oid::regclass,
              CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
  FROM pg_class c, aclexplode(c.relacl) a
 WHERE c.oid IN (to_regclass('{view}'), to_regclass('{status}'));
DO $$
DECLARE
    columns text := (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, NULL), ', ' ORDER BY a.attnum)
                       FROM pg_attribute a WHERE a.attrelid = to_regclass('{view}') AND a.attnum > 0);
BEGIN
    IF NOT coalesce(starts_with(columns, '{row_types}, id'), false) THEN
        DROP VIEW IF EXISTS {view}, {status};
    END IF;
    IF pg_get_function_result(to_regprocedure('{read}(bigint)')) <> 'TABLE(id uuid, {readable_types})' THEN
        DROP FUNCTION {read}(bigint);
    END IF;
    -- It tells the message ids too.
    IF pg_get_function_result(to_regprocedure('{claim}(uuid, integer, integer)')) = 'TABLE(id uuid, lease_id bigint)' THEN
        DROP FUNCTION {claim}(uuid, integer, integer);
    END IF;
    {drop_former}
    IF pg_get_function_result(to_regprocedure('{do_read}(bigint)')) <> 'TABLE({row_types})' THEN
        DROP FUNCTION {do_read}(bigint);
    END IF;
    IF pg_get_function_result(to_regprocedure('{do_read}(bigint,bigint,bigint)'))
       <> 'TABLE({row_types}, content_bytes bigint)' THEN
        DROP FUNCTION {do_read}(bigint, bigint, bigint);
    END IF;
    -- Without the attempts they had fewer parameters: a second routine of the name would make calls ambiguous.
    DROP FUNCTION IF EXISTS {park}(bigint[], timestamptz, smallint, text, integer, integer, text);
    DROP FUNCTION IF EXISTS {do_retry}(bigint, bigint, bigint, text, bigint, bigint, bigint, boolean);
    DROP FUNCTION IF EXISTS {do_fail}(bigint, bigint, bigint, text, text, boolean);
    IF pg_get_function_arguments(to_regprocedure('{drop_content}({key}, smallint, boolean)')) NOT LIKE '%attempts%' THEN
        DROP FUNCTION {drop_content}({key}, smallint, boolean);
    END IF;
END $$;
)";

// Whoever was granted the views has them again.
const char* const after_routines_text = R"(
DO $$
DECLARE
    again text;
BEGIN
    FOR again IN SELECT g.command FROM pg_temp.postroom_grant g LOOP
        EXECUTE again;
    END LOOP;
END $$;
DROP TABLE pg_temp.postroom_grant;
)";

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
