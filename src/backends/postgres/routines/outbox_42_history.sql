-- The history of the outbox: partitions by day, and what is purged.

-- Makes the daily partitions of the history, from today to a week ahead, if they are missing. Where rights or
-- locks forbid it, nothing is lost: rows go to the default partition.
{define:function history_days}() RETURNS integer {pinned_path} {by_utc_days}
AS $$
DECLARE
    made integer := 0;
    day date;
    name text;
BEGIN
    FOR i IN 0 .. 7 LOOP
        day := current_date + i;
        name := '{queue}_done_p' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(format('{schema}.%I', name)) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE {schema}.%I PARTITION OF {done} FOR VALUES FROM (%L) TO (%L)', name,
                           day::timestamptz, (day + 1)::timestamptz);
            made := made + 1;
        EXCEPTION
            WHEN check_violation OR duplicate_table THEN
                NULL;  -- rows of that day are in the default partition already; the later days can be made
            WHEN insufficient_privilege OR lock_not_available OR object_not_in_prerequisite_state
                 OR object_in_use OR deadlock_detected THEN
                RETURN made;
        END;
    END LOOP;
    RETURN made;
END $$;

-- How many messages a day has: counted, or of a large one, which would take longer than a statement may, as the statistics say.
{define:function day_size}(in_day regclass) RETURNS bigint {pinned_path}
AS $$
DECLARE
    counted bigint;
BEGIN
    IF pg_relation_size(in_day) > 1024 * 1024 * 1024 THEN
        RETURN (SELECT greatest(c.reltuples, 1)::bigint FROM pg_class c WHERE c.oid = in_day);
    END IF;
    EXECUTE format('SELECT count(*) FROM %s', in_day) INTO counted;
    RETURN counted;
END $$;

-- Where rights or locks forbid it, they stay until the next purge.
{define:function drop_days}(in_days regclass[]) RETURNS void {pinned_path}
AS $$
DECLARE
    day regclass;
BEGIN
    FOREACH day IN ARRAY in_days LOOP
        BEGIN
            EXECUTE format('DROP TABLE %s', day);
        EXCEPTION
            WHEN insufficient_privilege OR dependent_objects_still_exist THEN
                NULL;
            WHEN lock_not_available OR deadlock_detected OR object_in_use THEN
                RETURN;
        END;
    END LOOP;
END $$;

-- One batch of the purge: whole days of history where possible, rows otherwise; then idempotency keys, and the days to
-- come. Making and dropping a day locks the whole history, and acks wait for that: it is the last thing of its
-- transaction. Days that are empty go with the last batch, since 0 tells the caller that nothing is left.
{define:function do_purge}(in_older_us bigint, in_window_us bigint, in_batch bigint)
RETURNS TABLE (purged bigint, busy integer) {pinned_path} {by_utc_days} SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    history_limit timestamptz := clock_timestamp() - in_older_us * interval '1 microsecond';
    key_limit timestamptz := clock_timestamp() - in_window_us * interval '1 microsecond';
    day record;
    empty regclass[] := ARRAY[]::regclass[];
    room bigint := in_batch;
    total bigint := 0;
    gone bigint;
BEGIN
    IF NOT {enter_purge}() THEN
        RETURN QUERY SELECT 0::bigint, 1;
        RETURN;
    END IF;
    FOR day IN
        SELECT c.oid::regclass AS name,
               CASE WHEN right(c.relname, 9) ~ '^p[0-9]{8}$' THEN
                    to_date(right(c.relname, 8), 'YYYYMMDD') END AS begins
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = '{done}'::regclass
         ORDER BY 2 NULLS LAST
    LOOP
        CONTINUE WHEN day.begins > history_limit;
        EXIT WHEN room <= 0;
        IF (day.begins + 1)::timestamptz <= history_limit THEN
            BEGIN
                EXECUTE format('LOCK TABLE %s IN SHARE MODE', day.name);
                gone := {day_size}(day.name);
                IF gone = 0 THEN
                    empty := empty || day.name;
                    CONTINUE;
                END IF;
                EXECUTE format('DROP TABLE %s', day.name);
                RETURN QUERY SELECT total + gone, 2;
                RETURN;
            EXCEPTION WHEN insufficient_privilege OR lock_not_available OR deadlock_detected
                           OR dependent_objects_still_exist OR object_in_use THEN
                NULL;  -- by rows, then
            END;
        END IF;
        -- Through the parent, whose rights suffice.
        EXECUTE format('DELETE FROM {done} WHERE tableoid = %L::regclass AND processed_at <= $1 '
                       'AND ctid = ANY (ARRAY(SELECT ctid FROM {done} WHERE tableoid = %L::regclass '
                       'AND processed_at <= $1 LIMIT $2))', day.name, day.name)
          USING history_limit, room;
        GET DIAGNOSTICS gone = ROW_COUNT;
        total := total + gone;
        room := room - gone;
    END LOOP;
    IF room > 0 THEN
        DELETE FROM {key} k
         WHERE k.created_at <= key_limit
           AND k.ctid = ANY (ARRAY(SELECT o.ctid FROM {key} o WHERE o.created_at <= key_limit LIMIT room));
        GET DIAGNOSTICS gone = ROW_COUNT;
        total := total + gone;
        PERFORM {drop_days}(empty), {history_days}();
    END IF;
    RETURN QUERY SELECT total, 0;
END $$;

SELECT {history_days}();
