-- Claim: choose and lease. Messages are read in a transaction of their own afterwards (do_read), so that
-- nothing large moves, and no client is waited for, while the claim lock is held.

-- Messages with an ordering key whose turn it is: the first of its key, and none of the key is leased. Locks and
-- returns up to in_room of them, longest due first. For claims only, under the claim lock: each statement here has
-- a snapshot younger than the claims before.
--
-- A message found waiting behind another is marked, and no claim looks at it again until the key has a note in
-- {turn}. The note is committed together with what made room, so a claim that marks without knowing of it is
-- followed by one that finds both. At most in_room * 4, or 1000, messages and notes are looked at. A row that
-- somebody else changes at this moment is passed by, and its note stays.
CREATE FUNCTION {line_up}(in_at timestamptz, in_room bigint) RETURNS bigint[] LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    looks CONSTANT bigint := greatest(1000, 4 * in_room);
    notes bigint[];
    keys text[];
    firsts bigint[];
    busy text[];
    last_at timestamptz;
    last_seq bigint;
BEGIN
    SELECT array_agg(n.id), array_agg(n.ordering_key) INTO notes, keys
      FROM (SELECT t.id, t.ordering_key FROM {turn} t ORDER BY t.id LIMIT looks) n;
    IF notes IS NOT NULL THEN
        -- Here and below a range and the order of the line's index: for "= k ORDER BY seq" the planner would rather walk the
        -- primary key where statistics say that one key has nearly all messages.
        firsts := ARRAY(SELECT (SELECT b.seq FROM {waiting} b
                                 WHERE b.ordering_key >= k AND b.ordering_key <= k AND NOT b.frees_key
                                 ORDER BY b.ordering_key, b.seq LIMIT 1)
                          FROM unnest(keys) k);
        UPDATE {waiting} w SET behind = false
         WHERE w.seq = ANY (ARRAY(SELECT f.seq FROM {waiting} f
                                   WHERE f.seq = ANY (firsts) AND f.behind FOR UPDATE SKIP LOCKED));
        busy := ARRAY(SELECT w.ordering_key FROM {waiting} w WHERE w.seq = ANY (firsts) AND w.behind);
        DELETE FROM {turn} t WHERE t.id = ANY (notes) AND t.ordering_key <> ALL (busy);
    END IF;

    SELECT w.available_at, w.seq INTO last_at, last_seq
      FROM {waiting} w
     WHERE w.state = 0 AND w.ordering_key IS NOT NULL AND NOT w.behind AND w.available_at <= in_at
       AND (SELECT l.seq FROM {lease} l WHERE l.seq = w.seq) IS NULL
     ORDER BY w.available_at, w.seq LIMIT 1 OFFSET looks - 1;
    IF NOT FOUND THEN
        last_at := in_at;
        last_seq := 9223372036854775807;
    END IF;
    UPDATE {waiting} w SET behind = true
     WHERE w.seq = ANY (ARRAY(
            SELECT c.seq FROM {waiting} c
             WHERE c.state = 0 AND c.ordering_key IS NOT NULL AND NOT c.behind
               AND (c.available_at, c.seq) <= (last_at, last_seq)
               AND (SELECT l.seq FROM {lease} l WHERE l.seq = c.seq) IS NULL
               AND (SELECT b.seq FROM {waiting} b
                     WHERE b.ordering_key >= c.ordering_key AND (b.ordering_key, b.seq) < (c.ordering_key, c.seq)
                       AND NOT b.frees_key
                     ORDER BY b.ordering_key, b.seq LIMIT 1) IS NOT NULL
             ORDER BY c.available_at, c.seq FOR UPDATE SKIP LOCKED));
    RETURN ARRAY(
        SELECT c.seq FROM {waiting} c
         WHERE c.state = 0 AND c.ordering_key IS NOT NULL AND NOT c.behind
           AND (c.available_at, c.seq) <= (last_at, last_seq)
           AND (SELECT l.seq FROM {lease} l WHERE l.seq = c.seq) IS NULL
           AND (SELECT l.seq FROM {lease} l WHERE l.ordering_key = c.ordering_key) IS NULL
           AND (SELECT b.seq FROM {waiting} b
                 WHERE b.ordering_key >= c.ordering_key AND (b.ordering_key, b.seq) < (c.ordering_key, c.seq)
                   AND NOT b.frees_key
                 ORDER BY b.ordering_key, b.seq LIMIT 1) IS NULL
         ORDER BY c.available_at, c.seq LIMIT in_room FOR UPDATE SKIP LOCKED);
END $$;

-- Whether messages with an ordering key may be claimed at in_at; for claims only, under the claim lock. After the
-- leases were lost they wait for as long as one of them can have lasted.
CREATE FUNCTION {leases_known}(in_at timestamptz, in_lease_us bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at_ms CONSTANT bigint := (extract(epoch FROM in_at) * 1000)::bigint;
    longest_ms bigint := greatest(1, in_lease_us / 1000);
    ordered_from bigint := pg_sequence_last_value('{ordered_from}');
BEGIN
    IF longest_ms > coalesce(pg_sequence_last_value('{longest_lease}'), 0) THEN
        PERFORM setval('{longest_lease}', longest_ms);
        -- This must be known after a crash, so this one claim waits for the flush.
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF ordered_from IS NULL THEN
        ordered_from := at_ms + pg_sequence_last_value('{longest_lease}');
        PERFORM setval('{ordered_from}', ordered_from);
    END IF;
    RETURN ordered_from <= at_ms;
END $$;

CREATE FUNCTION {do_claim}(in_owner uuid, in_lease_id bigint, in_lease_us bigint, in_batch bigint,
                           in_turn bigint, in_relaxed boolean)
RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    -- Claims look this many numbers below the mark, as far as they are in doubt: that finds nearly all commits which
    -- come in late.
    slack CONSTANT bigint := 100;
    by_age CONSTANT boolean := in_turn % 4 = 3;
    now_ms CONSTANT bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    found record;
    at timestamptz;
    until timestamptz;
    mark bigint;
    old_mark bigint;
    room bigint := in_batch;
    any_urgent boolean;
    first_due timestamptz;
    any_ordered boolean;
    mark_holds boolean;
    due bigint[] := '{}';
    low bigint[];
    ordered bigint[] := '{}';
    fresh bigint[];
    low_end bigint;
    share bigint;
    due_share bigint;
    ordered_share bigint;
    taken bigint;
    due_ms bigint;
    lease_ms bigint;
    first_end timestamptz;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'a claim needs READ COMMITTED: under % it would deliver settled messages again',
            upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- The claim lock is held to the end of the transaction. A driver may take a moment between the messages of
    -- one statement, so a young transaction without writes passes.
    IF pg_current_xact_id_if_assigned() IS NOT NULL
       OR statement_timestamp() - transaction_timestamp() > interval '1 second' THEN
        RAISE EXCEPTION 'a claim must be a transaction of its own: it would keep all other claims waiting'
            USING ERRCODE = 'active_sql_transaction';
    END IF;
    -- Asked here too, because the call costs more than the answer, which mostly is no.
    SELECT NULL::bigint AS lower_to, NULL::bigint AS raise_to, false AS leases, NULL::bigint AS full_until INTO found;
    IF least(pg_sequence_last_value('{look_at}'), pg_sequence_last_value('{lease_due}')) BETWEEN now_ms + 1 AND now_ms + 30000 THEN
        NULL;
    ELSE
        found := {look}(greatest(in_batch, 100));
    END IF;

    -- All of it local to this transaction, which is the claim's own. A claim that a crash undoes was no claim. Nobody may
    -- sit on the claim lock: a session that goes idle with it is ended. A statement of its own: those below must see
    -- what the claims before this one committed.
    PERFORM CASE WHEN in_relaxed THEN set_config('synchronous_commit', 'off', true) END,
            set_config('idle_in_transaction_session_timeout', '5s', true),
            pg_advisory_xact_lock(hashtextextended('postroom claim {lock}', 0));
    at := clock_timestamp();
    until := at + in_lease_us * interval '1 microsecond';
    old_mark := coalesce(pg_sequence_last_value('{mark}'), 1);
    mark := old_mark;
    IF found.lower_to < mark THEN
        -- Unless the claim that was under way when we looked has leased it.
        IF (SELECT v.seq FROM {live} v WHERE v.seq = found.lower_to
               AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL) IS NOT NULL THEN
            mark := found.lower_to;
        END IF;
    ELSIF found.raise_to > mark THEN
        mark := found.raise_to;
    END IF;

    -- Asked at once, because a statement costs more than its answer, which mostly is no: whether anything is urgent, due or
    -- has its turn, and whether the rule holds that nothing is leased from the mark on.
    SELECT (SELECT v.seq FROM {live} v WHERE v.priority > 0 AND v.born_until IS NULL
             ORDER BY v.priority DESC, v.seq LIMIT 1) IS NOT NULL,
           (SELECT w.available_at FROM {waiting} w
             WHERE w.state = 0 AND w.priority >= 0 AND w.ordering_key IS NULL AND w.available_at <= at
             ORDER BY w.available_at, w.seq LIMIT 1),
           (SELECT t.id FROM {turn} t ORDER BY t.id LIMIT 1) IS NOT NULL
           OR (SELECT w.seq FROM {waiting} w
                WHERE w.state = 0 AND w.ordering_key IS NOT NULL AND NOT w.behind AND w.available_at <= at
                ORDER BY w.available_at, w.seq LIMIT 1) IS NOT NULL,
           NOT {locks_rows}() AND (SELECT l.seq FROM {lease} l WHERE l.seq >= mark ORDER BY l.seq LIMIT 1) IS NULL
      INTO any_urgent, first_due, any_ordered, mark_holds;

    IF any_urgent AND NOT by_age THEN
        INSERT INTO {lease} (seq, lease_id, locked_until, owner)
        SELECT u.seq, in_lease_id, until, in_owner
          FROM (SELECT v.seq FROM {live} v
                 WHERE v.priority > 0 AND v.born_until IS NULL
                   AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                 ORDER BY v.priority DESC, v.seq LIMIT room FOR UPDATE SKIP LOCKED) u;
        GET DIAGNOSTICS taken = ROW_COUNT;
        room := room - taken;
        mark_holds := mark_holds AND taken = 0;
    END IF;

    -- Due and fresh messages share what is left; the odd one goes to either in turn.
    IF first_due IS NOT NULL THEN
        -- From there on: below lie entries of rows that are gone, and while an old snapshot is held they all are walked over.
        due := ARRAY(SELECT w.seq FROM {waiting} w
                      WHERE w.state = 0 AND w.priority >= 0 AND w.ordering_key IS NULL
                        AND w.available_at >= first_due AND w.available_at <= at
                        AND (SELECT l.seq FROM {lease} l WHERE l.seq = w.seq) IS NULL
                      ORDER BY w.available_at, w.seq LIMIT room FOR UPDATE SKIP LOCKED);
    END IF;
    IF by_age THEN
        low := ARRAY(SELECT w.seq FROM {waiting} w
                      WHERE w.state = 0 AND w.priority < 0 AND w.ordering_key IS NULL AND w.available_at <= at
                        AND (SELECT l.seq FROM {lease} l WHERE l.seq = w.seq) IS NULL
                      ORDER BY w.available_at, w.seq LIMIT room FOR UPDATE SKIP LOCKED);
        IF cardinality(low) > 0 THEN
            due := ARRAY(SELECT w.seq FROM {waiting} w WHERE w.seq = ANY (due || low)
                          ORDER BY w.available_at, w.seq LIMIT room);
        END IF;
    END IF;
    IF any_ordered AND room > 0 AND {leases_known}(at, in_lease_us) THEN
        ordered := {line_up}(at, room);
    END IF;
    due_share := least(cardinality(due) + cardinality(ordered), (room + in_turn / 4) / 2);
    share := room - due_share;
    low_end := greatest(mark - slack, coalesce(pg_sequence_last_value('{floor}'), 1));
    IF {locks_rows}() THEN
        fresh := ARRAY(SELECT v.seq FROM {live} v
                        WHERE v.seq >= low_end AND v.born_until IS NULL
                          AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                        ORDER BY v.seq LIMIT share FOR UPDATE SKIP LOCKED);
    ELSE
        -- As long as that rule holds, no row's lease need be looked for from the mark on.
        fresh := ARRAY(SELECT v.seq FROM {live} v
                        WHERE v.seq >= low_end AND v.born_until IS NULL
                          AND ((mark_holds AND v.seq >= mark)
                               OR (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL)
                        ORDER BY v.seq LIMIT share);
    END IF;
    -- Of what waited, those with an ordering key and those without share likewise.
    due_share := least(cardinality(due) + cardinality(ordered), room - cardinality(fresh));
    ordered_share := least(cardinality(ordered), greatest((due_share + in_turn % 2) / 2, due_share - cardinality(due)));
    due := due[1:due_share - ordered_share];
    room := room - cardinality(fresh) - cardinality(due);
    INSERT INTO {lease} (seq, lease_id, locked_until, owner)
    SELECT u, in_lease_id, until, in_owner FROM unnest(fresh || due) u;
    IF ordered_share > 0 THEN
        INSERT INTO {lease} (seq, lease_id, locked_until, owner, ordering_key)
        SELECT w.seq, in_lease_id, until, in_owner, w.ordering_key
          FROM {waiting} w WHERE w.seq = ANY (ordered[1:ordered_share]);
        room := room - ordered_share;
    END IF;

    IF room > 0 AND NOT by_age THEN
        INSERT INTO {lease} (seq, lease_id, locked_until, owner)
        SELECT u.seq, in_lease_id, until, in_owner
          FROM (SELECT w.seq FROM {waiting} w
                 WHERE w.state = 0 AND w.priority < 0 AND w.ordering_key IS NULL AND w.available_at <= at
                   AND (SELECT l.seq FROM {lease} l WHERE l.seq = w.seq) IS NULL
                 ORDER BY w.available_at, w.seq LIMIT room FOR UPDATE SKIP LOCKED) u;
        GET DIAGNOSTICS taken = ROW_COUNT;
        room := room - taken;
    END IF;

    -- setval() survives a rollback. A mark too high is lowered by the next look; times too late are bounded.
    IF cardinality(fresh) > 0 THEN
        mark := greatest(mark, fresh[cardinality(fresh)] + 1);
    END IF;
    IF mark <> old_mark THEN
        PERFORM setval('{mark}', greatest(1, mark));
    END IF;
    lease_ms := (extract(epoch FROM until) * 1000)::bigint;
    due_ms := coalesce(pg_sequence_last_value('{lease_due}'), 0);
    IF found.leases THEN
        first_end := (SELECT min(l.locked_until) FROM {lease} l WHERE l.seq > 0);
        due_ms := least(coalesce((extract(epoch FROM first_end) * 1000)::bigint + 1, lease_ms),
                        (extract(epoch FROM at) * 1000)::bigint + 30000);
        PERFORM setval('{lease_due}', greatest(1, due_ms));
    ELSIF room < in_batch AND lease_ms < due_ms THEN
        PERFORM setval('{lease_due}', greatest(1, lease_ms));
    END IF;
    IF found.full_until IS NOT NULL THEN
        PERFORM setval('{full_look_at}', found.full_until);
    END IF;
    RETURN in_batch - room;
END $$;
