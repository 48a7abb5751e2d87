-- Shared notes that a fail-over broke.
--
-- The notes are unlogged sequences, and a crash puts them back to what they were when they were created. A standby that takes
-- over within minutes of their creation cannot: what they were is still in its memory and not in the file that it copies
-- (PostgreSQL 15 and later; unlogged tables and indexes are written at once). Such a sequence has an empty page,
-- fails whoever asks for its value, and nothing but its creation mends it. It reads as a table without rows.

-- Creates those anew that are broken, without a value, as after a crash; grants stay. Runs with the rights of its owner, because
-- workers may create nothing. Returns whether it did. Then the caller ends its transaction and begins again: a value set
-- outlives a rollback, and whoever finds one need not look here.
{define:function mend_notes}() RETURNS boolean {pinned_path} SECURITY DEFINER
AS $$
DECLARE
    note text;
    grant_of text;
    grants text[];
    found_rows bigint;
    mended boolean := false;
BEGIN
    FOREACH note IN ARRAY ARRAY['{mark}', '{floor}', '{next_tick}', '{tick_number}', '{tick_xid}', '{born_mark}',
                                '{born_walk}', '{born_lap}', '{look_at}', '{full_look_at}', '{lease_due}',
                                '{ordered_from}', '{clock_seen}'] LOOP
        EXECUTE format('SELECT count(*) FROM %s', note) INTO found_rows;
        CONTINUE WHEN found_rows > 0;
        {take_turn}
        -- Somebody may have been at it meanwhile.
        EXECUTE format('SELECT count(*) FROM %s', note) INTO found_rows;
        CONTINUE WHEN found_rows > 0;
        grants := ARRAY(SELECT format('GRANT %s ON SEQUENCE %s TO %s%s', a.privilege_type, note,
                                      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
                                      CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' END)
                          FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
                         WHERE c.oid = note::regclass AND a.grantee <> c.relowner);
        -- A fail-over that undoes it finds the same again: no standby is waited for, least of all right after a fail-over.
        PERFORM set_config('synchronous_commit', 'off', true);
        EXECUTE format('DROP SEQUENCE %s', note);
        EXECUTE format('CREATE UNLOGGED SEQUENCE %s', note);
        FOREACH grant_of IN ARRAY grants LOOP
            EXECUTE grant_of;
        END LOOP;
        mended := true;
    END LOOP;
    RETURN mended;
END $$;
