-- A message that comes without an id gets a ULID, as the library makes them. Locks: ACCESS EXCLUSIVE on {live}, {waiting} and, for what
-- comes next in the same deployment, {done}. Way back: ALTER COLUMN message_id SET DEFAULT gen_random_uuid()::text.

-- All tables or none: whoever has one of them is not kept waiting for another, as in a deadlock.
DO $$
DECLARE
    usual CONSTANT text := current_setting('lock_timeout');
BEGIN
    FOR try IN 1 .. 600 LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '100ms', true);
            LOCK TABLE {live}, {waiting}, {done} IN ACCESS EXCLUSIVE MODE;
            PERFORM set_config('lock_timeout', usual, true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05);
        END;
    END LOOP;
    RAISE EXCEPTION 'the tables of the outbox are in use all the time: no lock within 90 s' USING ERRCODE = 'lock_not_available';
END $$;

ALTER TABLE {live} ALTER COLUMN message_id SET DEFAULT {new_message_id};
ALTER TABLE {waiting} ALTER COLUMN message_id SET DEFAULT {new_message_id};
