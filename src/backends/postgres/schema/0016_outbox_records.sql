-- What operators read: when a message died and its last failed deliveries, who is at work, what operators changed.
-- Locks: ACCESS EXCLUSIVE on {waiting} and {done} for a moment; no row is rewritten. Way back: DROP the columns and the tables.

-- Both tables or neither: whoever has one of them is not kept waiting for the other, as in a deadlock. LOCK lets go of the first
-- when the second is not to be had in time.
DO $$
DECLARE
    usual CONSTANT text := current_setting('lock_timeout');
BEGIN
    FOR try IN 1 .. 600 LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '100ms', true);
            LOCK TABLE {waiting}, {done} IN ACCESS EXCLUSIVE MODE;
            PERFORM set_config('lock_timeout', usual, true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05);
        END;
    END LOOP;
    RAISE EXCEPTION 'the tables of the outbox are in use all the time: no lock within 90 s' USING ERRCODE = 'lock_not_available';
END $$;

-- Attempts are a JSON array of objects, oldest first (with_attempt). They lie in the row of the message and go where it goes, so
-- that nothing has to be cleared away behind it.
ALTER TABLE {waiting} ADD COLUMN died_at timestamptz, ADD COLUMN attempts jsonb;
ALTER TABLE {done} ADD COLUMN attempts jsonb;

-- Every dispatcher at work on either queue, in its own words: a JSON object, with times relative to last_seen in microseconds.
-- Unlogged: who still runs after a crash says so again.
CREATE UNLOGGED TABLE {worker} (
    owner     uuid NOT NULL,
    queue     bigint NOT NULL,
    last_seen timestamptz NOT NULL DEFAULT statement_timestamp(),
    report    text NOT NULL,
    CONSTRAINT "{queue}_worker_pk" PRIMARY KEY (owner, queue)
);

CREATE TABLE {audit} (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    recorded_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    who         text NOT NULL,
    what        text NOT NULL,
    target      text NOT NULL,
    affected    bigint NOT NULL,
    outcome     text NOT NULL,
    CONSTRAINT "{queue}_audit_pk" PRIMARY KEY (id)
);
CREATE FUNCTION {audit_stays}() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is only ever added to' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER "{queue}_audit_added_to" BEFORE UPDATE OR DELETE ON {audit}
    FOR EACH ROW EXECUTE FUNCTION {audit_stays}();
