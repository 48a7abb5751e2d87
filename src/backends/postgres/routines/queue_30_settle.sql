-- Settling what a lease holds, and what operators do with dead messages. Each verb acts only where the lease
-- stands: a lease row with that id, or a message born with it that nobody has taken over. An expired lease
-- that nobody took back yet still stands.

-- The message that in_lease_id holds: locks it and drops the lease. NULL: the lease is lost.
-- Otherwise true when the message is in live, false when it is in waiting.
{define:function take_lease}(in_seq bigint, in_nonce bigint, in_lease_id bigint)
RETURNS boolean {step}
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

{define:function do_retry}(in_seq bigint, in_nonce bigint, in_lease_id bigint, in_error text,
                           in_delay_us bigint, in_count_attempt bigint, in_max_attempts bigint,
                           in_frees_key boolean, in_attempt jsonb DEFAULT NULL)
RETURNS TABLE (seq bigint, state smallint) {pinned_rows}
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
                       retries::integer, 0, in_error, in_attempt);
    ELSE
        UPDATE {waiting} w
           SET available_at = CASE WHEN dead THEN w.available_at ELSE available END, state = new_state,
               dead_reason = CASE WHEN dead THEN 'max_attempts' END, retry_count = retries,
               frees_key = dead AND in_frees_key AND w.ordering_key IS NOT NULL,
               last_error = coalesce(in_error, w.last_error), died_at = CASE WHEN dead THEN clock_timestamp() END,
               attempts = {with_attempt}(w.attempts, in_attempt)
         WHERE w.seq = in_seq;
    END IF;
    RETURN QUERY SELECT in_seq, new_state;
END $$;

-- With an attempt it died of that, which counts.
{define:function do_fail}(in_seq bigint, in_nonce bigint, in_lease_id bigint, in_error text, in_reason text,
                          in_frees_key boolean, in_attempt jsonb DEFAULT NULL)
RETURNS SETOF bigint {pinned_rows}
AS $$
DECLARE
    in_live boolean := {take_lease}(in_seq, in_nonce, in_lease_id);
    tried CONSTANT integer := (in_attempt IS NOT NULL)::integer;
BEGIN
    IF in_live THEN
        PERFORM {park}(ARRAY[in_seq], NULL, 3::smallint, in_reason, tried, 0, in_error, in_attempt);
    ELSIF NOT in_live THEN
        UPDATE {waiting} w
           SET state = 3, dead_reason = in_reason, last_error = coalesce(in_error, w.last_error),
               frees_key = in_frees_key AND w.ordering_key IS NOT NULL, retry_count = w.retry_count + tried,
               died_at = clock_timestamp(), attempts = {with_attempt}(w.attempts, in_attempt)
         WHERE w.seq = in_seq;
    ELSE
        RETURN;
    END IF;
    RETURN NEXT in_seq;
END $$;

-- Leases that could not be prolonged because somebody has them locked: they stand for as long as they have time left. What
-- is being settled at this moment needs no more; what has run out may be about to be taken over.
{define:function standing}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint) RETURNS SETOF bigint {step}
AS $$
BEGIN
    RETURN QUERY SELECT l.seq FROM {lease} l
     WHERE l.seq = ANY (in_seqs) AND l.lease_id = in_lease_id AND l.locked_until > clock_timestamp()
       AND ((SELECT v.nonce FROM {live} v WHERE v.seq = l.seq) = ANY (in_nonces)
            OR (SELECT w.nonce FROM {waiting} w WHERE w.seq = l.seq) = ANY (in_nonces));
    RETURN QUERY SELECT v.seq FROM {live} v
     WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces) AND v.lease_id = in_lease_id
       AND v.born_until > clock_timestamp() AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL;
END $$;

-- A message born leased gets an ordinary lease here. A lease that may be the next to run out is noted under the
-- claim lock: claims work out that moment from the leases they see, and must not miss this one. Nobody waits for a lease
-- that is locked: one open transaction must not keep the others from being prolonged.
{define:function do_extend}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid,
                            in_lease_us bigint)
RETURNS SETOF bigint {pinned}
AS $$
DECLARE
    until timestamptz := clock_timestamp() + in_lease_us * interval '1 microsecond';
    until_ms bigint := {ms}(until);
    held bigint[];
    born bigint[] := '{}';
BEGIN
    held := ARRAY(SELECT l.seq FROM {lease} l
                   WHERE l.seq = ANY (in_seqs) AND l.lease_id = in_lease_id
                     AND ((SELECT v.nonce FROM {live} v WHERE v.seq = l.seq) = ANY (in_nonces)
                          OR (SELECT w.nonce FROM {waiting} w WHERE w.seq = l.seq) = ANY (in_nonces))
                   ORDER BY l.seq FOR UPDATE SKIP LOCKED);
    UPDATE {lease} l SET locked_until = until WHERE l.seq = ANY (held);
    IF EXISTS (SELECT FROM {lease} l WHERE l.seq = ANY (held) AND l.ordering_key IS NOT NULL) THEN
        PERFORM {note_longest}({ms}(clock_timestamp()), greatest(1, in_lease_us / 1000));
    END IF;
    IF cardinality(held) < cardinality(in_seqs) THEN
        born := ARRAY(SELECT v.seq FROM {live} v
                       WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces) AND v.lease_id = in_lease_id
                         AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                       FOR UPDATE SKIP LOCKED);
    END IF;
    IF cardinality(born) > 0 OR until_ms < coalesce(pg_sequence_last_value('{lease_due}'), 0) THEN
        {take_turn}
        INSERT INTO {lease} (seq, lease_id, locked_until, owner)
        SELECT b, in_lease_id, until, in_owner FROM unnest(born) b
        ON CONFLICT DO NOTHING;
        IF until_ms < coalesce(pg_sequence_last_value('{lease_due}'), 0) THEN
            PERFORM setval('{lease_due}', greatest(1, until_ms));
        END IF;
    END IF;
    -- What was prolonged stands, even if it is so short that it is over by now.
    RETURN QUERY SELECT unnest(held || born);
    IF cardinality(held) + cardinality(born) < cardinality(in_seqs) THEN
        RETURN QUERY SELECT s FROM {standing}(in_seqs, in_nonces, in_lease_id) s WHERE s <> ALL (held || born);
    END IF;
END $$;

-- Leases messages, dead or ready, of which nobody holds a lease that stands. A message that somebody has locked is passed by:
-- claims wait meanwhile.
{define:function do_hold}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid, in_lease_us bigint)
RETURNS SETOF bigint {pinned}
AS $$
DECLARE
    at timestamptz;
    until timestamptz;
    until_ms bigint;
    free bigint[];
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM {refuse_isolation}('a hold', 'take messages that are leased');
    END IF;
    -- A statement of its own: those below must see what the claims before this one committed.
    {take_turn}
    at := clock_timestamp();
    until := at + in_lease_us * interval '1 microsecond';
    until_ms := {ms}(until);
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

{define:function do_redrive}(in_seqs bigint[], in_nonces bigint[]) RETURNS bigint {pinned}
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

-- Messages that are put off, by a back-off or because they were given back, become claimable now, or when they are due.
{define:function do_retry_now}(in_seqs bigint[], in_nonces bigint[]) RETURNS bigint {pinned}
AS $$
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    changed bigint;
BEGIN
    UPDATE {waiting} w SET available_at = greatest(at, w.due_time)
     WHERE w.seq = ANY (in_seqs) AND w.nonce = ANY (in_nonces) AND w.state = 0
       AND w.available_at > greatest(at, w.due_time)
       AND coalesce((SELECT l.locked_until FROM {lease} l WHERE l.seq = w.seq) <= at, true);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END $$;

-- The work-item id of a row: a UUID of version 8 that holds 58 bits of seq and 64 bits of nonce.
{define:function item_id}(in_seq bigint, in_nonce bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (lpad(to_hex(in_seq >> 10), 12, '0') || '8'
        || lpad(to_hex(((in_seq & 1023) << 2) | ((in_nonce >> 62) & 3)), 3, '0')
        || to_hex((in_nonce & 4611686018427387903) | (-9223372036854775807 - 1)))::uuid;

-- Back again; a UUID that is no work-item id yields no row.
{define:function item_parts}(in_ids uuid[]) RETURNS TABLE (seq bigint, nonce bigint)
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
