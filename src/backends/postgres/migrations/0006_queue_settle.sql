-- Settling what a lease holds, and what operators do with dead messages. Each verb acts only where the lease
-- stands: a lease row with that id, or a message born with it that nobody has taken over. An expired lease
-- that nobody took back yet still stands.

-- The message that in_lease_id holds: locks it and drops the lease. NULL: the lease is lost.
-- Otherwise true when the message is in live, false when it is in waiting.
CREATE FUNCTION {take_lease}(in_seq bigint, in_nonce bigint, in_lease_id bigint)
RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    in_live boolean;
BEGIN
    -- The message is locked before the lease, as everywhere; whether the lease stands is decided by its DELETE.
    PERFORM FROM {lease} l WHERE l.seq = in_seq AND l.lease_id = in_lease_id;
    IF NOT FOUND THEN
        PERFORM FROM {live} v
          WHERE v.seq = in_seq AND v.nonce = in_nonce AND v.lease_id = in_lease_id
            AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
            FOR UPDATE;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        -- An extend may have come in between.
        DELETE FROM {lease} l WHERE l.seq = in_seq AND l.lease_id = in_lease_id;
        RETURN true;
    END IF;
    PERFORM FROM {live} v WHERE v.seq = in_seq AND v.nonce = in_nonce FOR UPDATE;
    in_live := FOUND;
    IF NOT in_live THEN
        PERFORM FROM {waiting} w WHERE w.seq = in_seq AND w.nonce = in_nonce FOR UPDATE;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    DELETE FROM {lease} l WHERE l.seq = in_seq AND l.lease_id = in_lease_id;
    RETURN CASE WHEN FOUND THEN in_live END;
END $$;

CREATE FUNCTION {do_retry}(in_seq bigint, in_nonce bigint, in_lease_id bigint, in_error text,
                           in_delay_us bigint, in_count_attempt bigint, in_max_attempts bigint,
                           in_frees_key boolean)
RETURNS TABLE (seq bigint, state smallint) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    in_live boolean := {take_lease}(in_seq, in_nonce, in_lease_id);
    available timestamptz := clock_timestamp() + in_delay_us * interval '1 microsecond';
    retries bigint := in_count_attempt;
    attempts_max bigint;
    dead boolean;
    new_state smallint;
BEGIN
    IF in_live IS NULL THEN
        RETURN;
    END IF;
    -- An expired message is not kept waiting for its next attempt: least() ignores NULL.
    IF in_live THEN
        SELECT coalesce(v.max_attempts, in_max_attempts), least(available, v.expires_at)
          INTO attempts_max, available
          FROM {live} v WHERE v.seq = in_seq;
    ELSE
        SELECT coalesce(w.max_attempts, in_max_attempts), w.retry_count + in_count_attempt,
               least(available, w.expires_at)
          INTO attempts_max, retries, available
          FROM {waiting} w WHERE w.seq = in_seq;
    END IF;
    dead := in_count_attempt > 0 AND attempts_max > 0 AND retries >= attempts_max;
    new_state := CASE WHEN dead THEN 3 ELSE 0 END;
    IF in_live THEN
        PERFORM {park}(ARRAY[in_seq], CASE WHEN NOT dead THEN available END, new_state, CASE WHEN dead THEN 'max_attempts' END,
                       retries::integer, 0, in_error);
    ELSE
        UPDATE {waiting} w
           SET available_at = CASE WHEN dead THEN w.available_at ELSE available END, state = new_state,
               dead_reason = CASE WHEN dead THEN 'max_attempts' END, retry_count = retries,
               frees_key = dead AND in_frees_key AND w.ordering_key IS NOT NULL,
               last_error = coalesce(in_error, w.last_error)
         WHERE w.seq = in_seq;
    END IF;
    RETURN QUERY SELECT in_seq, new_state;
END $$;

CREATE FUNCTION {do_fail}(in_seq bigint, in_nonce bigint, in_lease_id bigint, in_error text, in_reason text,
                          in_frees_key boolean)
RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    in_live boolean := {take_lease}(in_seq, in_nonce, in_lease_id);
BEGIN
    IF in_live THEN
        PERFORM {park}(ARRAY[in_seq], NULL, 3::smallint, in_reason, 0, 0, in_error);
    ELSIF NOT in_live THEN
        UPDATE {waiting} w
           SET state = 3, dead_reason = in_reason, last_error = coalesce(in_error, w.last_error),
               frees_key = in_frees_key AND w.ordering_key IS NOT NULL
         WHERE w.seq = in_seq;
    ELSE
        RETURN;
    END IF;
    RETURN NEXT in_seq;
END $$;

-- A message born leased gets an ordinary lease here. A lease that may be the next to run out is noted under the
-- claim lock: claims work out that moment from the leases they see, and must not miss this one.
CREATE FUNCTION {do_extend}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid,
                            in_lease_us bigint)
RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    until timestamptz := clock_timestamp() + in_lease_us * interval '1 microsecond';
    until_ms bigint := (extract(epoch FROM until) * 1000)::bigint;
    held bigint[];
    born bigint[] := '{}';
BEGIN
    held := ARRAY(SELECT l.seq FROM {lease} l
                   WHERE l.seq = ANY (in_seqs) AND l.lease_id = in_lease_id
                     AND ((SELECT v.nonce FROM {live} v WHERE v.seq = l.seq) = ANY (in_nonces)
                          OR (SELECT w.nonce FROM {waiting} w WHERE w.seq = l.seq) = ANY (in_nonces)));
    -- A lease that is being settled at this moment needs no more time, and nobody waits for it: one open
    -- transaction must not keep the other leases from being prolonged.
    UPDATE {lease} l SET locked_until = until
     WHERE l.seq = ANY (ARRAY(SELECT h.seq FROM {lease} h
                               WHERE h.seq = ANY (held) AND h.lease_id = in_lease_id
                               ORDER BY h.seq FOR UPDATE SKIP LOCKED));
    IF cardinality(held) < cardinality(in_seqs) THEN
        born := ARRAY(SELECT v.seq FROM {live} v
                       WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces) AND v.lease_id = in_lease_id
                         AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                       FOR UPDATE SKIP LOCKED);
    END IF;
    IF cardinality(born) > 0 OR until_ms < coalesce(pg_sequence_last_value('{lease_due}'), 0) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('postroom claim {lock}', 0));
        INSERT INTO {lease} (seq, lease_id, locked_until, owner)
        SELECT b, in_lease_id, until, in_owner FROM unnest(born) b
        ON CONFLICT DO NOTHING;
        IF until_ms < coalesce(pg_sequence_last_value('{lease_due}'), 0) THEN
            PERFORM setval('{lease_due}', greatest(1, until_ms));
        END IF;
    END IF;
    RETURN QUERY SELECT unnest(held || born);
END $$;

-- Leases messages, dead or ready, of which nobody holds a lease that stands. A message that somebody has locked is passed by:
-- claims wait meanwhile.
CREATE FUNCTION {do_hold}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid, in_lease_us bigint)
RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at timestamptz;
    until timestamptz;
    until_ms bigint;
    free bigint[];
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a hold needs READ COMMITTED: under % it would take messages that are leased',
            upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- A statement of its own: those below must see what the claims before this one committed.
    PERFORM pg_advisory_xact_lock(hashtextextended('postroom claim {lock}', 0));
    at := clock_timestamp();
    until := at + in_lease_us * interval '1 microsecond';
    until_ms := (extract(epoch FROM until) * 1000)::bigint;
    free := ARRAY(SELECT v.seq FROM {live} v
                   WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces) AND coalesce(v.born_until <= at, true)
                   FOR UPDATE SKIP LOCKED)
         || ARRAY(SELECT w.seq FROM {waiting} w
                   WHERE w.seq = ANY (in_seqs) AND w.nonce = ANY (in_nonces)
                   FOR UPDATE SKIP LOCKED);
    DELETE FROM {lease} l
     WHERE l.seq = ANY (ARRAY(SELECT e.seq FROM {lease} e WHERE e.seq = ANY (free) AND e.locked_until <= at
                               FOR UPDATE SKIP LOCKED));
    IF until_ms < coalesce(pg_sequence_last_value('{lease_due}'), 0) THEN
        PERFORM setval('{lease_due}', greatest(1, until_ms));
    END IF;
    RETURN QUERY INSERT INTO {lease} (seq, lease_id, locked_until, owner)
    SELECT f, in_lease_id, until, in_owner FROM unnest(free) f
     WHERE (SELECT l.seq FROM {lease} l WHERE l.seq = f) IS NULL
    RETURNING seq;
END $$;

CREATE FUNCTION {do_redrive}(in_seqs bigint[], in_nonces bigint[]) RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    redriven bigint;
BEGIN
    UPDATE {waiting} w
       SET state = 0, available_at = clock_timestamp(), retry_count = 0, lost_count = 0, dead_reason = NULL,
           last_error = NULL, behind = false, frees_key = false
     WHERE w.seq = ANY (in_seqs) AND w.nonce = ANY (in_nonces) AND w.state = 3;
    GET DIAGNOSTICS redriven = ROW_COUNT;
    RETURN redriven;
END $$;

-- The work-item id of a row: a UUID of version 8 that holds 58 bits of seq and 64 bits of nonce.
CREATE FUNCTION {item_id}(in_seq bigint, in_nonce bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (lpad(to_hex(in_seq >> 10), 12, '0') || '8'
        || lpad(to_hex(((in_seq & 1023) << 2) | ((in_nonce >> 62) & 3)), 3, '0')
        || to_hex((in_nonce & 4611686018427387903) | (-9223372036854775807 - 1)))::uuid;

-- Back again; a UUID that is no work-item id yields no row.
CREATE FUNCTION {item_parts}(in_ids uuid[]) RETURNS TABLE (seq bigint, nonce bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT DISTINCT (('x' || substr(h, 1, 12))::bit(48)::bigint << 10)
               | (('x' || substr(h, 14, 3))::bit(12)::bigint >> 2),
           ((('x' || substr(h, 14, 3))::bit(12)::bigint & 3) << 62)
               | (('x' || substr(h, 17, 16))::bit(64)::bigint & 4611686018427387903)
      FROM (SELECT replace(id::text, '-', '') AS h FROM unnest(in_ids) id) AS hex
     WHERE substr(h, 13, 1) = '8' AND substr(h, 17, 1) IN ('8', '9', 'a', 'b')
     ORDER BY 1;
END;
