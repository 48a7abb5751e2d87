-- What only the outbox does: enqueue with a key, acknowledge into history, purge.

-- A message with an idempotency key, a due time, an ordering key or a low priority. The key comes first: whoever finds it taken
-- writes nothing, and the transaction of the caller stays usable.
CREATE FUNCTION {do_enqueue}(
    in_nonce bigint, in_message_id text, in_topic text, in_payload bytea, in_content_type text, in_headers json,
    in_correlation_id text, in_tenant_id text, in_idempotency_key text, in_aggregate_type text,
    in_aggregate_id text, in_occurred_at timestamptz, in_expires_at timestamptz, in_priority integer,
    in_ordering_key text, in_max_attempts integer, in_key text, in_due_time timestamptz)
RETURNS TABLE (seq bigint, nonce bigint, message_id text, already_existed integer) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz := clock_timestamp();
    -- Before the number: whoever waits for the key of another must not be taken for one that has ended.
    own xid8 := CASE WHEN in_key IS NOT NULL THEN pg_current_xact_id() END;
    new_seq bigint := nextval('{number}');
BEGIN
    WHILE in_key IS NOT NULL LOOP
        INSERT INTO {key} (tenant_id, idempotency_key, seq, nonce, message_id, created_at)
        VALUES (in_tenant_id, in_key, new_seq, in_nonce, in_message_id, at)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        RETURN QUERY SELECT k.seq, k.nonce, k.message_id, 1 FROM {key} k
                      WHERE k.tenant_id = in_tenant_id AND k.idempotency_key = in_key;
        IF FOUND THEN
            RETURN;
        END IF;
        -- The key was purged between the two statements.
    END LOOP;
    IF in_due_time > at OR in_priority < 0 OR in_ordering_key IS NOT NULL THEN
        INSERT INTO {waiting} (
            seq, nonce, created_at, available_at, occurred_at, due_time, expires_at, priority, max_attempts,
            behind, message_id, topic, tenant_id, correlation_id, idempotency_key, aggregate_type, aggregate_id,
            ordering_key, content_type, headers, payload)
        VALUES (new_seq, in_nonce, at, least(coalesce(in_due_time, at), in_expires_at), in_occurred_at, in_due_time,
                in_expires_at, in_priority, in_max_attempts, {joins_own}(in_ordering_key), in_message_id, in_topic, in_tenant_id, in_correlation_id,
                in_idempotency_key, in_aggregate_type, in_aggregate_id, in_ordering_key, in_content_type,
                in_headers, in_payload);
    ELSE
        INSERT INTO {live} (
            seq, nonce, created_at, occurred_at, due_time, expires_at, priority, max_attempts, message_id, topic,
            tenant_id, correlation_id, idempotency_key, aggregate_type, aggregate_id, ordering_key,
            content_type, headers, payload)
        VALUES (new_seq, in_nonce, at, in_occurred_at, in_due_time, in_expires_at, in_priority, in_max_attempts,
                in_message_id, in_topic, in_tenant_id, in_correlation_id, in_idempotency_key, in_aggregate_type,
                in_aggregate_id, NULL, in_content_type, in_headers, in_payload);
    END IF;
    RETURN QUERY SELECT new_seq, in_nonce, in_message_id, 0;
END $$;

-- Removes acknowledged messages and keeps them as history. The numbers come in order.
--
-- Those of a claim mostly are a few long runs, and in live: then ranges find them, which is cheaper than one search for
-- each, and one comparison tells that they are the messages meant. Otherwise at most 200 go at a time, because the list
-- of nonces is searched one by one.
CREATE FUNCTION {do_ack}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid, in_keep boolean,
                         in_relaxed boolean DEFAULT false)
RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    chunk CONSTANT integer := 200;
    run_min CONSTANT integer := 8;  -- on average, for ranges to pay
    run_max CONSTANT integer := 500;
    at timestamptz := clock_timestamp();
    asked CONSTANT integer := cardinality(in_seqs);
    begins integer[];  -- where the pieces begin that go together
    by_run boolean;
    is_run boolean;
    last integer;
    seqs bigint[];
    nonces bigint[];
    first_seq bigint;
    last_seq bigint;
    leased boolean;
    whole_run boolean;
    held bigint[];
    settled bigint;
BEGIN
    IF in_relaxed THEN
        -- An ack that a crash undoes is a redelivery. Local to this transaction, which is the ack's own.
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    begins := ARRAY(SELECT i FROM generate_series(1, asked) i
                     WHERE i % run_max = 1 OR in_seqs[i] <> in_seqs[i - 1] + 1);
    by_run := cardinality(begins) * run_min <= asked;
    IF NOT by_run THEN
        begins := ARRAY(SELECT generate_series(1, asked, chunk));
    END IF;
    FOR i IN 1 .. cardinality(begins) LOOP
        last := coalesce(begins[i + 1] - 1, asked);
        seqs := in_seqs[begins[i]:last];
        nonces := in_nonces[begins[i]:last];
        first_seq := seqs[1];
        last_seq := seqs[cardinality(seqs)];
        is_run := by_run AND nonces = ARRAY(SELECT v.nonce FROM {live} v WHERE v.seq >= first_seq AND v.seq <= last_seq
                                             ORDER BY v.seq);
        leased := (SELECT l.seq FROM {lease} l WHERE l.seq >= first_seq AND l.seq <= last_seq
                    ORDER BY l.seq LIMIT 1) IS NOT NULL;
        held := '{}';
        IF leased AND is_run THEN
            WITH dropped AS (
                DELETE FROM {lease} l
                 WHERE l.seq >= first_seq AND l.seq <= last_seq AND l.lease_id = in_lease_id
                RETURNING l.seq
            )
            SELECT coalesce(array_agg(d.seq), '{}') INTO held FROM dropped d;
        ELSIF leased THEN
            WITH dropped AS (
                DELETE FROM {lease} l
                 WHERE l.seq = ANY (seqs) AND l.lease_id = in_lease_id
                   AND (coalesce((SELECT v.nonce FROM {live} v WHERE v.seq = l.seq),
                                 (SELECT w.nonce FROM {waiting} w WHERE w.seq = l.seq)) = ANY (nonces))
                RETURNING l.seq
            )
            SELECT coalesce(array_agg(d.seq), '{}') INTO held FROM dropped d;
        END IF;
        settled := 0;

        IF cardinality(held) > 0 THEN
            whole_run := is_run AND cardinality(held) = cardinality(seqs);
            IF in_keep THEN
                INSERT INTO {done} (
                    seq, nonce, created_at, processed_at, available_at, occurred_at, due_time, expires_at,
                    priority, max_attempts, retry_count, lost_count, message_id, topic, tenant_id, correlation_id,
                    idempotency_key, aggregate_type, aggregate_id, ordering_key, content_type, processed_by,
                    headers, payload)
                SELECT g.seq, g.nonce, g.created_at, at, coalesce(g.due_time, g.created_at), g.occurred_at,
                       g.due_time, g.expires_at, coalesce(g.priority, 0), g.max_attempts, 0, 0, g.message_id, g.topic,
                       g.tenant_id, g.correlation_id, g.idempotency_key, coalesce(g.aggregate_type, '__GLOBAL__'), g.aggregate_id,
                       g.ordering_key, coalesce(g.content_type, 'application/json'), in_owner::text, g.headers, g.payload
                  FROM unnest(CASE WHEN whole_run THEN ARRAY[first_seq] ELSE held END,
                              CASE WHEN whole_run THEN ARRAY[last_seq] ELSE held END) AS run (first, last),
                       LATERAL (SELECT * FROM {live} f WHERE f.seq >= run.first AND f.seq <= run.last OFFSET 0) g;
            END IF;
            IF whole_run THEN
                RETURN QUERY DELETE FROM {live} v WHERE v.seq >= first_seq AND v.seq <= last_seq RETURNING v.seq;
            ELSE
                RETURN QUERY DELETE FROM {live} v WHERE v.seq = ANY (held) RETURNING v.seq;
            END IF;
            GET DIAGNOSTICS settled = ROW_COUNT;
        END IF;

        IF settled < cardinality(held) THEN
            IF in_keep THEN
                RETURN QUERY
                WITH gone AS (
                    DELETE FROM {waiting} w WHERE w.seq = ANY (held) AND w.nonce = ANY (nonces) RETURNING w.*
                )
                INSERT INTO {done} AS d (
                    seq, nonce, created_at, processed_at, available_at, occurred_at, due_time, expires_at,
                    priority, max_attempts, retry_count, lost_count, message_id, topic, tenant_id, correlation_id,
                    idempotency_key, aggregate_type, aggregate_id, ordering_key, content_type, processed_by,
                    headers, payload)
                SELECT g.seq, g.nonce, g.created_at, at, g.available_at, g.occurred_at,
                       g.due_time, g.expires_at, g.priority, g.max_attempts, g.retry_count, g.lost_count, g.message_id, g.topic,
                       g.tenant_id, g.correlation_id, g.idempotency_key, g.aggregate_type, g.aggregate_id,
                       g.ordering_key, g.content_type, in_owner::text, g.headers, g.payload
                  FROM gone g
                RETURNING d.seq;
            ELSE
                RETURN QUERY
                DELETE FROM {waiting} w WHERE w.seq = ANY (held) AND w.nonce = ANY (nonces) RETURNING w.seq;
            END IF;
        END IF;

        -- Born leased, and no ordinary lease yet. After a claim took it over the message is no longer in live; one
        -- that is held by another lease still is.
        CONTINUE WHEN cardinality(held) >= cardinality(seqs);
        IF in_keep THEN
            RETURN QUERY
            WITH gone AS (
                DELETE FROM {live} v
                 WHERE v.seq = ANY (seqs) AND v.nonce = ANY (nonces) AND v.lease_id = in_lease_id
                   AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                RETURNING v.*
            )
            INSERT INTO {done} AS d (
                seq, nonce, created_at, processed_at, available_at, occurred_at, due_time, expires_at,
                priority, max_attempts, retry_count, lost_count, message_id, topic, tenant_id, correlation_id,
                idempotency_key, aggregate_type, aggregate_id, ordering_key, content_type, processed_by,
                headers, payload)
            SELECT g.seq, g.nonce, g.created_at, at, coalesce(g.due_time, g.created_at), g.occurred_at,
                   g.due_time, g.expires_at, coalesce(g.priority, 0), g.max_attempts, 0, 0, g.message_id, g.topic,
                   g.tenant_id, g.correlation_id, g.idempotency_key, coalesce(g.aggregate_type, '__GLOBAL__'), g.aggregate_id,
                   g.ordering_key, coalesce(g.content_type, 'application/json'), in_owner::text, g.headers, g.payload
              FROM gone g
            RETURNING d.seq;
            CONTINUE;
        END IF;
        IF is_run AND NOT leased THEN
            -- Unless somebody has leased one of them just now.
            RETURN QUERY
            DELETE FROM {live} v
             WHERE v.seq >= first_seq AND v.seq <= last_seq AND v.lease_id = in_lease_id
               AND (SELECT l.seq FROM {lease} l WHERE l.seq >= first_seq AND l.seq <= last_seq
                     ORDER BY l.seq LIMIT 1) IS NULL
            RETURNING v.seq;
            CONTINUE WHEN FOUND;
        END IF;
        RETURN QUERY
        DELETE FROM {live} v
         WHERE v.seq = ANY (seqs) AND v.nonce = ANY (nonces) AND v.lease_id = in_lease_id
           AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
        RETURNING v.seq;
    END LOOP;
END $$;

-- Makes the daily partitions of the history, from today to a week ahead, if they are missing. Where rights or
-- locks forbid it, nothing is lost: rows go to the default partition.
CREATE FUNCTION {history_days}() RETURNS integer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '200ms'
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

-- One batch of the purge: whole days of history where possible, rows otherwise; then idempotency keys. Making and
-- dropping a day locks the whole history, and acks wait for that: it is always the last thing of its transaction.
CREATE FUNCTION {do_purge}(in_older_us bigint, in_window_us bigint, in_batch bigint)
RETURNS TABLE (purged bigint, busy integer) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '200ms' SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    history_limit timestamptz := clock_timestamp() - in_older_us * interval '1 microsecond';
    key_limit timestamptz := clock_timestamp() - in_window_us * interval '1 microsecond';
    day record;
    room bigint := in_batch;
    total bigint := 0;
    gone bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('postroom purge {lock}', 0)) THEN
        RETURN QUERY SELECT 0::bigint, 1;
        RETURN;
    END IF;
    IF {history_days}() > 0 THEN
        RETURN QUERY SELECT 0::bigint, 0;
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
                EXECUTE format('SELECT count(*) FROM %s', day.name) INTO gone;
                EXECUTE format('DROP TABLE %s', day.name);
                RETURN QUERY SELECT total + gone, 0;
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
    END IF;
    RETURN QUERY SELECT total, 0;
END $$;

SELECT {history_days}();
