-- What a plain INSERT may bring: the limits of the library that deploys, so that no row takes more memory than workers expect.
-- A constraint has its limit in its name, which is what a writer is told. Rows that are there already are not looked at, and on
-- {waiting} there is no such rule: whatever got in must be able to wait. A constraint is replaced only when its limit is
-- another, because the lock for that waits for all writers.
DO $$
DECLARE
    payload_rule CONSTANT text := 'payload_at_most_{max_payload_bytes}_bytes';
    headers_rule CONSTANT text := 'headers_at_most_{headers_text_bytes}_bytes';
    old_rule text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = '{live}'::regclass AND c.conname = payload_rule) THEN
        FOR old_rule IN SELECT c.conname FROM pg_constraint c
                         WHERE c.conrelid = '{live}'::regclass AND c.conname LIKE 'payload\_at\_most\_%' LOOP
            EXECUTE format('ALTER TABLE {live} DROP CONSTRAINT %I', old_rule);
        END LOOP;
        EXECUTE format('ALTER TABLE {live} ADD CONSTRAINT %I CHECK (octet_length(payload) <= {max_payload_bytes}) NOT VALID',
                       payload_rule);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_constraint c
                    WHERE c.contypid = '{header_object}'::regtype AND c.conname = headers_rule) THEN
        FOR old_rule IN SELECT c.conname FROM pg_constraint c
                         WHERE c.contypid = '{header_object}'::regtype AND c.conname LIKE 'headers\_at\_most\_%' LOOP
            EXECUTE format('ALTER DOMAIN {header_object} DROP CONSTRAINT %I', old_rule);
        END LOOP;
        EXECUTE format('ALTER DOMAIN {header_object} ADD CONSTRAINT %I '
                       'CHECK (octet_length(VALUE::text) <= {headers_text_bytes}) NOT VALID', headers_rule);
    END IF;
END $$;

-- Whether the turn at a gate was free: others who find it taken leave it at that.
{define:function enter_look}() RETURNS boolean {step}
AS $$
BEGIN
    LOCK TABLE {look_gate} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

{define:function enter_purge}() RETURNS boolean {step}
AS $$
BEGIN
    LOCK TABLE {purge_gate} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;
