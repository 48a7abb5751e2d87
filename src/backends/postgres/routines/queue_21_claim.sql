-- Claim: choose and lease. Messages are read in a transaction of their own afterwards (do_read), so that
-- nothing large moves, and no client is waited for, while the claim lock is held.

{define:function refuse_isolation}(in_verb text, in_harm text) RETURNS void {step}
AS $$
BEGIN
    RAISE EXCEPTION '% needs READ COMMITTED: under % it would %', in_verb,
        upper(current_setting('transaction_isolation')), in_harm USING ERRCODE = 'invalid_transaction_state';
END $$;

-- How a batch is shared, for claims that no library works out the numbers for: claim_passes() of the library, which
-- says what they mean, in SQL.
{define:function claim_passes}(in_batch bigint, in_number bigint, OUT urgent_to bigint, OUT keyed_to bigint,
                               OUT due_to bigint, OUT low_to bigint, OUT keyed_again_to bigint)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    by_age CONSTANT boolean := in_number % 4 = 3;
    index CONSTANT bigint := in_number / 4 * CASE WHEN by_age THEN 1 ELSE 3 END
                             + CASE WHEN by_age THEN 0 ELSE in_number % 4 END;
    waited CONSTANT bigint := (in_batch + index % 2) / 2;
    low CONSTANT bigint := CASE WHEN by_age THEN (waited + index / 4 % 2) / 2 ELSE 0 END;
BEGIN
    urgent_to := CASE WHEN by_age THEN 0 ELSE in_batch END;
    keyed_to := (waited - low + index / 2 % 2) / 2;
    due_to := waited - low;
    low_to := CASE WHEN by_age THEN waited ELSE 0 END;
    keyed_again_to := index % 2 * in_batch;
END $$;

-- From where on fresh messages are claimed, after a round of look has found something. For claims only, under the
-- claim lock.
{define:function moved_mark}(in_mark bigint, in_lower_to bigint, in_raise_to bigint) RETURNS bigint {step}
AS $$
BEGIN
    IF in_lower_to < in_mark THEN
        -- Unless the claim that was under way when we looked has leased it.
        RETURN coalesce((SELECT v.seq FROM {live} v WHERE v.seq = in_lower_to
                            AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL), in_mark);
    END IF;
    RETURN greatest(in_mark, in_raise_to);
END $$;

-- Leases up to in_room urgent messages: the highest priority first, then the oldest.
{define:function lease_urgent}(in_owner uuid, in_lease_id bigint, in_until timestamptz, in_room bigint)
RETURNS bigint {step}
AS $$
DECLARE
    taken bigint;
BEGIN
    INSERT INTO {lease} (seq, lease_id, locked_until, owner)
    SELECT u.seq, in_lease_id, in_until, in_owner
      FROM (SELECT v.seq FROM {live} v
             WHERE v.priority > 0 AND v.born_until IS NULL
               AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
             ORDER BY v.priority DESC, v.seq LIMIT in_room FOR UPDATE SKIP LOCKED) u;
    GET DIAGNOSTICS taken = ROW_COUNT;
    RETURN taken;
END $$;

-- Locks messages that wait and whose time has come, up to in_room of each band, longest due first. in_first_due: none
-- is due longer than that. The search begins there, because below lie entries of rows that are gone, and while an
-- old snapshot is held they all are walked over; NULL: none is due. A row that somebody wrote here with the number of a fresh
-- message waits until that is gone: both would have the same lease.
{define:function choose_waiting}(in_at timestamptz, in_lease_us bigint, in_room bigint, in_any_keyed boolean,
                                 in_first_due timestamptz, in_wants_low boolean,
                                 OUT keyed bigint[], OUT due bigint[], OUT low bigint[])
{step}
AS $$
BEGIN
    keyed := '{}';
    due := '{}';
    low := '{}';
    IF in_any_keyed AND {leases_known}(in_at, in_lease_us) THEN
        keyed := {line_up}(in_at, in_room);
    END IF;
    IF in_first_due IS NOT NULL THEN
        due := ARRAY(SELECT w.seq FROM {waiting} w
                      WHERE w.state = 0 AND w.priority >= 0 AND w.ordering_key IS NULL
                        AND w.available_at >= in_first_due AND w.available_at <= in_at
                        AND (SELECT l.seq FROM {lease} l WHERE l.seq = w.seq) IS NULL
                        AND (SELECT v.seq FROM {live} v WHERE v.seq = w.seq) IS NULL
                      ORDER BY w.available_at, w.seq LIMIT in_room FOR UPDATE SKIP LOCKED);
    END IF;
    IF in_wants_low THEN
        low := ARRAY(SELECT w.seq FROM {waiting} w
                      WHERE w.state = 0 AND w.priority < 0 AND w.ordering_key IS NULL AND w.available_at <= in_at
                        AND (SELECT l.seq FROM {lease} l WHERE l.seq = w.seq) IS NULL
                        AND (SELECT v.seq FROM {live} v WHERE v.seq = w.seq) IS NULL
                      ORDER BY w.available_at, w.seq LIMIT in_room FOR UPDATE SKIP LOCKED);
    END IF;
END $$;

-- The lease of a message with an ordering key carries the key, so that none is leased beside it.
{define:function lease_keyed}(in_owner uuid, in_lease_id bigint, in_until timestamptz, in_seqs bigint[])
RETURNS void {step}
AS $$
BEGIN
    INSERT INTO {lease} (seq, lease_id, locked_until, owner, ordering_key)
    SELECT w.seq, in_lease_id, in_until, in_owner, w.ordering_key FROM {waiting} w WHERE w.seq = ANY (in_seqs);
END $$;

-- What fresh messages left over falls to those that wait: to the ones with an ordering key up to in_again of them, to
-- the others, then to what there is. Given how many there are of each band.
{define:function fill_up}(in_room bigint, in_again bigint, in_keyed bigint, in_due bigint,
                          OUT keyed_more bigint, OUT due_more bigint) {step}
AS $$
BEGIN
    keyed_more := greatest(0, least(in_keyed, in_again));
    due_more := least(in_due, in_room - keyed_more);
    keyed_more := least(in_keyed, in_room - due_more);
END $$;

-- Leases a batch, pass by pass: each takes messages of its band until so many are leased in all as its ceiling says.
-- Messages that wait are chosen first, as many as the passes may need in all, and counted out to them afterwards.
-- Returns how many were leased, and from where on the next claim looks for fresh ones.
{define:function lease_batch}(
    in_owner uuid, in_lease_id bigint, in_lease_us bigint, in_at timestamptz, in_batch bigint, in_mark bigint,
    in_urgent_to bigint, in_keyed_to bigint, in_due_to bigint, in_low_to bigint, in_keyed_again_to bigint,
    OUT leased bigint, OUT mark bigint) {step}
AS $$
DECLARE
    -- Claims look this many numbers below the mark, as far as they are in doubt: that finds nearly all commits which
    -- come in late.
    slack CONSTANT bigint := 100;
    low_end CONSTANT bigint := greatest(in_mark - slack, coalesce(pg_sequence_last_value('{floor}'), 1));
    until CONSTANT timestamptz := in_at + in_lease_us * interval '1 microsecond';
    any_urgent boolean;
    any_keyed boolean;
    first_due timestamptz;
    mark_holds boolean;
    keyed bigint[] := '{}';
    due bigint[] := '{}';
    low bigint[] := '{}';
    fresh bigint[];
    chosen record;
    more record;
    keyed_count bigint;
    due_count bigint;
    low_count bigint;
BEGIN
    leased := 0;
    -- Asked at once, because a statement costs more than its answer, which mostly is no: whether anything is urgent,
    -- due or has its turn, and whether the rule holds that nothing is leased from the mark on.
    SELECT (SELECT v.seq FROM {live} v WHERE v.priority > 0 AND v.born_until IS NULL
             ORDER BY v.priority DESC, v.seq LIMIT 1) IS NOT NULL,
           (SELECT w.available_at FROM {waiting} w
             WHERE w.state = 0 AND w.priority >= 0 AND w.ordering_key IS NULL AND w.available_at <= in_at
             ORDER BY w.available_at, w.seq LIMIT 1),
           (SELECT t.id FROM {turn} t ORDER BY t.id LIMIT 1) IS NOT NULL
           OR (SELECT w.seq FROM {waiting} w
                WHERE w.state = 0 AND w.ordering_key IS NOT NULL AND NOT w.behind AND w.available_at <= in_at
                ORDER BY w.available_at, w.seq LIMIT 1) IS NOT NULL,
           NOT {locks_rows}() AND (SELECT l.seq FROM {lease} l WHERE l.seq >= in_mark ORDER BY l.seq LIMIT 1) IS NULL
      INTO any_urgent, first_due, any_keyed, mark_holds;
    IF any_urgent AND in_urgent_to > 0 THEN
        leased := {lease_urgent}(in_owner, in_lease_id, until, in_urgent_to);
        mark_holds := mark_holds AND leased = 0;
    END IF;
    IF leased < in_batch AND (any_keyed OR first_due IS NOT NULL OR in_low_to > 0) THEN
        chosen := {choose_waiting}(in_at, in_lease_us, in_batch - leased, any_keyed, first_due, in_low_to > 0);
        keyed := chosen.keyed;
        due := chosen.due;
        low := chosen.low;
    END IF;
    keyed_count := greatest(0, least(cardinality(keyed), in_keyed_to - leased));
    due_count := greatest(0, least(cardinality(due), in_due_to - leased - keyed_count));
    low_count := greatest(0, least(cardinality(low), in_low_to - leased - keyed_count - due_count));
    leased := leased + keyed_count + due_count + low_count;
    -- As long as that rule holds, no row's lease need be looked for from the mark on.
    fresh := ARRAY(SELECT v.seq FROM {live} v
                    WHERE v.seq >= low_end AND v.born_until IS NULL
                      AND ((mark_holds AND v.seq >= in_mark)
                           OR (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL)
                    ORDER BY v.seq LIMIT in_batch - leased {lock_chosen});
    mark := greatest(in_mark, fresh[cardinality(fresh)] + 1);
    leased := leased + cardinality(fresh);
    IF leased < in_batch THEN
        more := {fill_up}(in_batch - leased, in_keyed_again_to - leased, cardinality(keyed) - keyed_count,
                          cardinality(due) - due_count);
        keyed_count := keyed_count + more.keyed_more;
        due_count := due_count + more.due_more;
        leased := leased + more.keyed_more + more.due_more - low_count;
        IF in_low_to = 0 AND leased < in_batch THEN
            low := ({choose_waiting}(in_at, in_lease_us, in_batch - leased, false, NULL, true)).low;
        END IF;
        low_count := least(cardinality(low), in_batch - leased);
        leased := leased + low_count;
    END IF;
    INSERT INTO {lease} (seq, lease_id, locked_until, owner)
    SELECT u, in_lease_id, until, in_owner FROM unnest(fresh || due[1:due_count] || low[1:low_count]) u;
    IF keyed_count > 0 THEN
        PERFORM {lease_keyed}(in_owner, in_lease_id, until, keyed[1:keyed_count]);
    END IF;
END $$;

-- When the next lease runs out, for the claims to come. setval() survives a rollback: a time too late is bounded by
-- 30 s. in_afresh: the leases were gone through, so what is noted may be too early.
{define:function note_lease_due}(in_at timestamptz, in_until timestamptz, in_afresh boolean) RETURNS void {step}
AS $$
DECLARE
    first_ms bigint := {ms}(in_until);
BEGIN
    IF in_afresh THEN
        first_ms := least(coalesce({ms}((SELECT min(l.locked_until) FROM {lease} l WHERE l.seq > 0)) + 1, first_ms),
                          {ms}(in_at) + 30000);
    END IF;
    PERFORM setval('{lease_due}', greatest(1, first_ms));
END $$;

-- The clock was put back by in_back_ms: whatever was given a time meanwhile would keep it for that much longer. Leases, also those
-- that messages were born with, end as long after now as they were to last; a message that waits for another attempt may come early. What a user has asked for stays.
-- Nobody is waited for, because all claims wait for this one: whoever has a row locked is about to delete it or to give it
-- another time.
{define:function follow_clock}(in_at timestamptz, in_back_ms bigint) RETURNS void {step}
AS $$
DECLARE
    back CONSTANT interval := in_back_ms * interval '1 millisecond';
BEGIN
    UPDATE {lease} l SET locked_until = greatest(in_at, l.locked_until - back)
     WHERE l.seq = ANY (ARRAY(SELECT h.seq FROM {lease} h WHERE h.locked_until > in_at FOR UPDATE SKIP LOCKED));
    UPDATE {waiting} w SET available_at = greatest(in_at, w.due_time, w.available_at - back)
     WHERE w.seq = ANY (ARRAY(SELECT p.seq FROM {waiting} p
                               WHERE p.state = 0 AND p.available_at > in_at AND p.retry_count + p.lost_count > 0
                                 FOR UPDATE SKIP LOCKED));
    UPDATE {live} v SET born_until = greatest(in_at, v.born_until - back)
     WHERE v.seq = ANY (ARRAY(SELECT b.seq FROM {live} b WHERE b.born_until > in_at FOR UPDATE SKIP LOCKED));
END $$;

-- Leases up to in_batch messages; the ceilings of the passes are those of claim_passes. Returns how many. in_relaxed: a
-- claim that a crash undoes was no claim, so it need not wait for the flush.
{define:function do_claim}(
    in_owner uuid, in_lease_id bigint, in_lease_us bigint, in_batch bigint, in_urgent_to bigint, in_keyed_to bigint,
    in_due_to bigint, in_low_to bigint, in_keyed_again_to bigint, in_relaxed boolean)
RETURNS bigint {pinned}
AS $$
DECLARE
    now_ms CONSTANT bigint := {ms}(clock_timestamp());
    noted boolean;
    lower_to bigint;
    raise_to bigint;
    leases boolean := false;
    full_until bigint;
    at timestamptz;
    seen_ms bigint;
    until timestamptz;
    old_mark bigint;
    mark bigint;
    batch record;
BEGIN
    -- The claim lock is held to the end of the transaction. Driver and server may take their time between the messages
    -- of one statement, so a young transaction without writes passes; so does one that goes on with its own claim.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM {refuse_isolation}('a claim', 'deliver settled messages again');
    ELSIF statement_timestamp() - transaction_timestamp() > interval '5 seconds'
          OR (pg_current_xact_id_if_assigned() IS NOT NULL
              AND (SELECT l.seq FROM {lease} l WHERE l.lease_id = in_lease_id LIMIT 1) IS NULL) THEN
        RAISE EXCEPTION 'a claim must be a transaction of its own: it would keep all other claims waiting'
            USING ERRCODE = 'active_sql_transaction';
    END IF;
    -- Without a value nobody has claimed since the notes were reset, or they are broken. A statement of its own: nothing
    -- may have them open then.
    noted := (SELECT s.is_called FROM {look_at} s);
    IF noted IS NOT TRUE AND {mend_notes}() THEN
        RETURN 0;
    END IF;
    -- Asked here too, because the call costs more than the answer, which mostly is no.
    IF (least(pg_sequence_last_value('{look_at}'), pg_sequence_last_value('{lease_due}'))
        BETWEEN now_ms + 1 AND now_ms + 30000) IS NOT TRUE THEN
        SELECT k.lower_to, k.raise_to, k.leases, k.full_until INTO lower_to, raise_to, leases, full_until
          FROM {look}(greatest(in_batch, 100)) k;
    END IF;

    -- All of it local to this transaction, which is the claim's own. Nobody may sit on the claim lock: a session that
    -- goes idle with it is ended. A statement of its own: those below must see what the claims before this one
    -- committed.
    PERFORM CASE WHEN in_relaxed THEN set_config('synchronous_commit', 'off', true) END,
            set_config('idle_in_transaction_session_timeout', '5s', true);
    {take_turn}
    at := clock_timestamp();
    seen_ms := coalesce(pg_sequence_last_value('{clock_seen}'), 0);
    IF {ms}(at) NOT BETWEEN seen_ms - 1000 AND seen_ms + 100 THEN
        IF {ms}(at) < seen_ms THEN
            PERFORM {follow_clock}(at, seen_ms - {ms}(at));
        END IF;
        PERFORM setval('{clock_seen}', greatest(1, {ms}(at)));
    END IF;
    until := at + in_lease_us * interval '1 microsecond';
    old_mark := coalesce(pg_sequence_last_value('{mark}'), 1);
    mark := old_mark;
    IF lower_to IS NOT NULL OR raise_to IS NOT NULL THEN
        mark := {moved_mark}(mark, lower_to, raise_to);
    END IF;
    batch := {lease_batch}(in_owner, in_lease_id, in_lease_us, at, in_batch, mark, in_urgent_to, in_keyed_to, in_due_to,
                           in_low_to, in_keyed_again_to);
    -- setval() survives a rollback. A mark too high is lowered by the next look.
    IF batch.mark <> old_mark THEN
        PERFORM setval('{mark}', greatest(1, batch.mark));
    END IF;
    IF leases OR (batch.leased > 0 AND {ms}(until) < coalesce(pg_sequence_last_value('{lease_due}'), 0)) THEN
        PERFORM {note_lease_due}(at, until, leases);
    END IF;
    IF full_until IS NOT NULL THEN
        PERFORM setval('{full_look_at}', full_until);
    END IF;
    RETURN batch.leased;
END $$;

-- Claims as earlier libraries of this schema call it: the number of the claim in place of the ceilings.
{define:function do_claim}(in_owner uuid, in_lease_id bigint, in_lease_us bigint, in_batch bigint, in_turn bigint,
                           in_relaxed boolean)
RETURNS bigint LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT {do_claim}(in_owner, in_lease_id, in_lease_us, in_batch, p.urgent_to, p.keyed_to, p.due_to, p.low_to,
                      p.keyed_again_to, in_relaxed)
      FROM {claim_passes}(in_batch, in_turn) p
$$;
