-- Where the database is, in words that physical standbys share, and dumps that were restored elsewhere do not. Empty where this
-- user may not ask: then only the epoch tells of a restore.
{define:function here}() RETURNS text {pinned_path}
AS $$
BEGIN
    RETURN format('cluster %s, database %s', (SELECT c.system_identifier FROM pg_control_system() c),
                  (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()));
EXCEPTION WHEN insufficient_privilege OR undefined_function OR feature_not_supported THEN
    RETURN '';
END $$;
