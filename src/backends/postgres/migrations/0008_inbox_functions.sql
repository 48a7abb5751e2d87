-- What only the inbox does: receive, see, mark, acknowledge, purge. Locks are taken in the order key, message,
-- lease, so that receivers, markers and acknowledgements of one message wait for each other without a deadlock.

-- The state of a key: its own, or that of its content.
CREATE FUNCTION {key_state}(in_key {key}) RETURNS smallint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
    IF in_key.seq IS NULL THEN
        RETURN in_key.state;
    END IF;
    IF (SELECT l.locked_until FROM {lease} l WHERE l.seq = in_key.seq) > clock_timestamp() THEN
        RETURN 1;
    END IF;
    RETURN coalesce((SELECT w.state FROM {waiting} w WHERE w.seq = in_key.seq), 0);
END $$;

-- Locks the key and its content; no row: no such key. The content is locked before its lease is looked at: a
-- claim locks what it leases, so it has either finished or passes this message by.
CREATE FUNCTION {lock_key}(in_source text, in_message_id text) RETURNS SETOF {key} LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    locked {key};
BEGIN
    SELECT * INTO locked FROM {key} k WHERE k.source = in_source AND k.message_id = in_message_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF locked.seq IS NOT NULL THEN
        PERFORM FROM {live} v WHERE v.seq = locked.seq FOR UPDATE;
        IF NOT FOUND THEN
            PERFORM FROM {waiting} w WHERE w.seq = locked.seq FOR UPDATE;
        END IF;
    END IF;
    RETURN NEXT locked;
END $$;

CREATE FUNCTION {do_receive}(
    in_nonce bigint, in_source text, in_message_id text, in_topic text, in_payload bytea, in_hash bytea,
    in_content_type text, in_headers json, in_ordering_key text, in_due_time timestamptz,
    in_expires_at timestamptz, in_priority integer, in_max_attempts integer, in_revive boolean)
RETURNS TABLE (seq bigint, nonce bigint, previous smallint, hash_mismatch integer) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz := clock_timestamp();
    known {key};
    before smallint;
    mismatch boolean := false;
    number bigint;
    new_state smallint := 0;
    available timestamptz := coalesce(in_due_time, at);
    first_seen_at timestamptz := at;
    leased boolean;
    row_nonce bigint := in_nonce;
    retries integer := 0;
    losses integer := 0;
    reason text;
    error text;
    frees boolean := false;
BEGIN
    -- An id before the number: whoever waits for another's key must not be taken for one that has ended.
    PERFORM pg_current_xact_id();
    LOOP
        number := nextval('{number}');
        INSERT INTO {key} (source, message_id, state, seq, nonce, first_seen, last_seen, topic, hash)
        VALUES (in_source, in_message_id, 0, number, in_nonce, at, at, in_topic, in_hash)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        SELECT * INTO known FROM {lock_key}(in_source, in_message_id);
        EXIT WHEN FOUND;
        -- The key was purged between the two statements.
    END LOOP;

    IF known.source IS NOT NULL THEN
        before := {key_state}(known);
        mismatch := coalesce(in_hash <> known.hash, false);
        -- A lease that has run out counts too: its holder may still settle what it was given.
        leased := known.seq IS NOT NULL AND (SELECT l.seq FROM {lease} l WHERE l.seq = known.seq) IS NOT NULL;
        IF before = 2 OR leased THEN
            UPDATE {key} k SET last_seen = at, hash = coalesce(k.hash, in_hash)
             WHERE k.source = in_source AND k.message_id = in_message_id;
            RETURN QUERY SELECT known.seq, known.nonce, before, mismatch::integer;
            RETURN;
        END IF;
        UPDATE {key} k SET last_seen = at, hash = coalesce(in_hash, k.hash), topic = in_topic, state = 0
         WHERE k.source = in_source AND k.message_id = in_message_id;
        first_seen_at := known.first_seen;
        IF before = 3 AND NOT in_revive THEN
            new_state := 3;
            reason := 'failed';
            error := known.last_error;
        END IF;
        IF known.seq IS NOT NULL THEN
            -- Replaced where it is not held: old content goes, new content comes under the same number.
            number := known.seq;
            row_nonce := known.nonce;
            available := greatest(in_due_time, at);
            DELETE FROM {live} v WHERE v.seq = number;
            IF NOT FOUND THEN
                SELECT w.retry_count, w.lost_count, w.dead_reason, w.last_error,
                       CASE WHEN new_state = 3 THEN w.available_at ELSE available END, w.frees_key
                  INTO retries, losses, reason, error, available, frees
                  FROM {waiting} w WHERE w.seq = number;
                DELETE FROM {waiting} w WHERE w.seq = number;
                IF before = 3 AND in_revive THEN
                    retries := 0;
                    losses := 0;
                    reason := NULL;
                    error := NULL;
                    frees := false;
                END IF;
            END IF;
        ELSE
            UPDATE {key} k SET seq = number, nonce = in_nonce, last_error = NULL
             WHERE k.source = in_source AND k.message_id = in_message_id;
        END IF;
    END IF;

    IF known.seq IS NULL AND new_state = 0 AND in_priority >= 0 AND coalesce(in_due_time <= at, true)
       AND in_ordering_key IS NULL THEN
        INSERT INTO {live} (seq, nonce, created_at, due_time, expires_at, priority, max_attempts, message_id, topic,
                            ordering_key, source, hash, content_type, headers, payload)
        VALUES (number, row_nonce, first_seen_at, in_due_time, in_expires_at, in_priority, in_max_attempts, in_message_id,
                in_topic, NULL, in_source, in_hash, in_content_type, in_headers, in_payload);
    ELSE
        INSERT INTO {waiting} (seq, nonce, created_at, available_at, due_time, expires_at, priority, max_attempts,
                               retry_count, lost_count, state, behind, frees_key, message_id, topic, ordering_key, source, hash,
                               content_type, dead_reason, last_error, headers, payload)
        VALUES (number, row_nonce, first_seen_at,
                CASE WHEN new_state = 3 THEN available ELSE least(available, in_expires_at) END, in_due_time,
                in_expires_at, in_priority, in_max_attempts, retries, losses, new_state,
                known.seq IS NULL AND {joins_own}(in_ordering_key), frees AND in_ordering_key IS NOT NULL,
                in_message_id, in_topic, in_ordering_key,
                in_source, in_hash, in_content_type, reason, error, in_headers, in_payload);
    END IF;
    RETURN QUERY SELECT number, row_nonce, before, mismatch::integer;
END $$;

CREATE FUNCTION {do_see}(in_source text, in_message_id text, in_hash bytea)
RETURNS TABLE (previous smallint, hash_mismatch integer) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz := clock_timestamp();
    known {key};
BEGIN
    LOOP
        INSERT INTO {key} (source, message_id, state, first_seen, last_seen, hash)
        VALUES (in_source, in_message_id, 4, at, at, in_hash)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN QUERY SELECT NULL::smallint, 0;
            RETURN;
        END IF;
        UPDATE {key} k SET last_seen = at, hash = coalesce(k.hash, in_hash)
         WHERE k.source = in_source AND k.message_id = in_message_id
        RETURNING k.* INTO known;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN QUERY SELECT {key_state}(known), coalesce(in_hash <> known.hash, false)::integer;
END $$;

CREATE FUNCTION {do_mark}(in_source text, in_message_id text, in_state bigint, in_error text)
RETURNS SETOF smallint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at timestamptz := clock_timestamp();
    known {key};
    before smallint;
BEGIN
    SELECT * INTO known FROM {lock_key}(in_source, in_message_id);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    before := {key_state}(known);
    RETURN NEXT before;
    IF before = 2 THEN
        RETURN;
    END IF;
    IF in_state = 2 THEN
        DELETE FROM {lease} l WHERE l.seq = known.seq;
        DELETE FROM {live} v WHERE v.seq = known.seq;
        DELETE FROM {waiting} w WHERE w.seq = known.seq;
        UPDATE {key} k SET state = 2, seq = NULL, nonce = NULL, processed_at = at, last_error = NULL
         WHERE k.source = in_source AND k.message_id = in_message_id;
    ELSIF known.seq IS NULL THEN
        UPDATE {key} k SET state = in_state, last_error = CASE WHEN in_state = 3 THEN in_error ELSE k.last_error END
         WHERE k.source = in_source AND k.message_id = in_message_id;
    ELSIF in_state = 3 THEN
        DELETE FROM {lease} l WHERE l.seq = known.seq;
        IF {park}(ARRAY[known.seq], NULL, 3::smallint, 'failed', 0, 0, in_error) = 0 THEN
            UPDATE {waiting} w SET state = 3, dead_reason = 'failed', last_error = coalesce(in_error, w.last_error)
             WHERE w.seq = known.seq;
        END IF;
    ELSE
        DELETE FROM {lease} l WHERE l.seq = known.seq;
        -- Live content that nobody held is claimable where it is.
        IF FOUND THEN
            PERFORM {park}(ARRAY[known.seq], at, 0::smallint, NULL, 0, 0, NULL);
        END IF;
        UPDATE {waiting} w SET state = 0, available_at = at, dead_reason = NULL, behind = false, frees_key = false
         WHERE w.seq = known.seq;
    END IF;
END $$;

-- A mark that a message is done keeps duplicates out: it is never relaxed.
CREATE FUNCTION {do_ack}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid, in_keep boolean,
                         in_relaxed boolean DEFAULT false)
RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at timestamptz := clock_timestamp();
    item record;
BEGIN
    -- Keys first, in one order for everybody.
    FOR item IN
        SELECT m.source, m.message_id, m.seq
          FROM (SELECT v.source, v.message_id, v.seq FROM {live} v
                 WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces)
                UNION ALL
                SELECT w.source, w.message_id, w.seq FROM {waiting} w
                 WHERE w.seq = ANY (in_seqs) AND w.nonce = ANY (in_nonces)) m
         ORDER BY m.source, m.message_id
    LOOP
        PERFORM FROM {key} k WHERE k.source = item.source AND k.message_id = item.message_id FOR UPDATE;
        DELETE FROM {lease} l WHERE l.seq = item.seq AND l.lease_id = in_lease_id;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM {live} v WHERE v.seq = item.seq;
        IF NOT FOUND THEN
            DELETE FROM {waiting} w WHERE w.seq = item.seq;
        END IF;
        UPDATE {key} k
           SET state = 2, seq = NULL, nonce = NULL, processed_at = at, processed_by = in_owner::text,
               last_error = NULL
         WHERE k.source = item.source AND k.message_id = item.message_id;
        RETURN NEXT item.seq;
    END LOOP;
END $$;

CREATE FUNCTION {do_purge}(in_older_us bigint, in_window_us bigint, in_batch bigint)
RETURNS TABLE (purged bigint, busy integer) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    older timestamptz := clock_timestamp() - in_older_us * interval '1 microsecond';
    gone bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('postroom purge {lock}', 0)) THEN
        RETURN QUERY SELECT 0::bigint, 1;
        RETURN;
    END IF;
    DELETE FROM {key} k
     WHERE k.state = 2 AND k.last_seen <= older
       AND k.ctid = ANY (ARRAY(SELECT o.ctid FROM {key} o WHERE o.state = 2 AND o.last_seen <= older
                                ORDER BY o.last_seen LIMIT in_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN QUERY SELECT gone, 0;
END $$;
