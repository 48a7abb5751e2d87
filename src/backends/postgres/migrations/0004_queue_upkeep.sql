-- Functions that keep a queue in order: parking, taking back what was lost, looking for late commits.
--
-- All functions of this schema run with the rights of the caller, name every object with its schema, and carry
-- their plan settings with them, so that neither search_path nor statistics of the moment change what they do.
-- Each table is reached by its own index condition (= ANY, scalar sub-select); there are no joins to go wrong.

-- Moves messages from live to waiting. Whoever calls it holds the messages: a lease, a row lock. Without a
-- time they keep the one they had.
CREATE FUNCTION {park}(in_seqs bigint[], in_available_at timestamptz, in_state smallint, in_reason text,
                       in_retries integer, in_losses integer, in_error text)
RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    moved bigint;
BEGIN
    WITH gone AS (
        DELETE FROM {live} v WHERE v.seq = ANY (in_seqs) RETURNING v.*
    )
    INSERT INTO {waiting} (
        seq, nonce, created_at, available_at, occurred_at, due_time, expires_at, priority, max_attempts,
        retry_count, lost_count, state, message_id, topic, tenant_id, correlation_id, idempotency_key,
        aggregate_type, aggregate_id, ordering_key, source, hash, content_type, dead_reason, last_error,
        headers, payload)
    SELECT g.seq, g.nonce, g.created_at, coalesce(in_available_at, g.due_time, g.created_at), g.occurred_at, g.due_time, g.expires_at, coalesce(g.priority, 0),
           g.max_attempts, in_retries, in_losses, in_state, g.message_id, g.topic, g.tenant_id,
           g.correlation_id, g.idempotency_key, coalesce(g.aggregate_type, '__GLOBAL__'), g.aggregate_id, g.ordering_key,
           g.source, g.hash, coalesce(g.content_type, 'application/json'), in_reason, in_error, g.headers, g.payload
      FROM gone g;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;

-- Whether a new message would stand behind one of the same ordering key that this very transaction wrote. Then it
-- may be marked at once: nobody sees either before both are there. Behind a message of another transaction it may
-- not, because that one can leave before this one is seen.
CREATE FUNCTION {joins_own}(in_ordering_key text) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
    IF in_ordering_key IS NULL THEN
        RETURN false;
    END IF;
    RETURN coalesce((SELECT b.xmin = pg_current_xact_id()::xid FROM {waiting} b
                      WHERE b.ordering_key = in_ordering_key AND NOT b.frees_key
                      ORDER BY b.seq DESC LIMIT 1), false);
END $$;

-- Takes back up to in_limit leases that have run out. A row that somebody settles or changes at this moment is
-- skipped, and so nobody is waited for. A stale ack that comes later finds no lease and changes nothing.
CREATE FUNCTION {take_back}(in_limit bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at timestamptz := clock_timestamp();
    expired bigint[];
    in_live bigint[];
    in_waiting bigint[];
    elsewhere bigint[];
BEGIN
    expired := ARRAY(SELECT l.seq FROM {lease} l WHERE l.locked_until <= at
                      ORDER BY l.seq LIMIT in_limit FOR UPDATE SKIP LOCKED);
    IF cardinality(expired) = 0 THEN
        RETURN 0;
    END IF;
    in_live := ARRAY(SELECT v.seq FROM {live} v WHERE v.seq = ANY (expired) FOR UPDATE SKIP LOCKED);
    in_waiting := ARRAY(SELECT w.seq FROM {waiting} w WHERE w.seq = ANY (expired) FOR UPDATE SKIP LOCKED);
    PERFORM {park}(in_live, at, 0::smallint, NULL, 0, 1, NULL);
    UPDATE {waiting} w
       SET lost_count = w.lost_count + 1, available_at = at
     WHERE w.seq = ANY (in_waiting) AND w.state = 0;
    -- Leases of messages that are gone go too; those of messages locked by others stay for the next time.
    elsewhere := ARRAY(
        SELECT e FROM unnest(expired) e
         WHERE e <> ALL (in_live) AND e <> ALL (in_waiting)
           AND ((SELECT v.seq FROM {live} v WHERE v.seq = e) IS NOT NULL
                OR (SELECT w.seq FROM {waiting} w WHERE w.seq = e) IS NOT NULL));
    DELETE FROM {lease} l WHERE l.seq = ANY (expired) AND l.seq <> ALL (elsewhere);
    RETURN cardinality(in_live) + cardinality(in_waiting);
END $$;

-- The same for messages born leased, of these numbers, whose time is over and that have no lease of their own.
CREATE FUNCTION {take_born}(in_from bigint, in_to bigint, in_limit bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    at timestamptz := clock_timestamp();
    expired bigint[];
BEGIN
    expired := ARRAY(SELECT v.seq FROM {live} v
                      WHERE v.seq >= in_from AND v.seq <= in_to AND v.born_until <= at
                        AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                      ORDER BY v.seq LIMIT in_limit FOR UPDATE SKIP LOCKED);
    IF cardinality(expired) = 0 THEN
        RETURN 0;
    END IF;
    RETURN {park}(expired, at, 0::smallint, NULL, 0, 1, NULL);
END $$;

-- Those have no index, which would cost each of them as much as its acknowledgement, and nearly all are gone in a moment. The
-- few whose writer is gone are looked for among all of live, piece by piece: this is one piece, of at most in_room messages. The
-- next one goes on behind it, and at the end begins again at the mark, the first that may be one. in_final: all numbers up to
-- it are final, which lets the mark rise; NULL: not known. in_full: the next time round begins with the first number.
-- Returns how many messages it went over.
CREATE FUNCTION {walk_born}(in_room bigint, in_limit bigint, in_final bigint, in_full boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    old_mark CONSTANT bigint := coalesce(pg_sequence_last_value('{born_mark}'), 1);
    low bigint := greatest(old_mark, pg_sequence_last_value('{born_walk}'));
    begins CONSTANT boolean := low = old_mark;
    wants_full CONSTANT boolean := in_full OR coalesce(pg_sequence_last_value('{born_lap}'), 2) = 2;
    walked bigint;
    last_walked bigint;
    first_born bigint;
    first_over bigint;
    mark bigint;
BEGIN
    IF begins AND wants_full THEN
        low := 1;
    END IF;
    SELECT count(*), max(m.seq), min(m.seq) FILTER (WHERE m.born_until IS NOT NULL),
           min(m.seq) FILTER (WHERE m.born_until <= clock_timestamp())
      INTO walked, last_walked, first_born, first_over
      FROM (SELECT v.seq, v.born_until FROM {live} v WHERE v.seq >= low ORDER BY v.seq LIMIT in_room) m;
    IF first_over IS NOT NULL THEN
        PERFORM {take_born}(first_over, last_walked, in_limit);
    END IF;
    IF begins THEN
        -- Up to the first of them; higher than before only as far as nothing more can come in. To lower it does no harm.
        mark := coalesce(first_born, CASE WHEN walked = in_room THEN last_walked + 1 END, in_final + 1, old_mark);
        mark := least(mark, greatest(in_final + 1, old_mark));
        PERFORM setval('{born_mark}', greatest(1, mark));
    END IF;
    PERFORM setval('{born_walk}', CASE WHEN walked = in_room THEN last_walked + 1 ELSE 1 END),
            setval('{born_lap}', CASE WHEN wants_full AND NOT begins THEN 2 ELSE 1 END);
    RETURN walked;
END $$;

-- Goes over a million numbers at most for messages born leased; the others are found by rounds.
CREATE FUNCTION {do_reap}(in_limit bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    reaped bigint := {take_back}(in_limit);
    born_mark bigint := coalesce(pg_sequence_last_value('{born_mark}'), 1);
BEGIN
    IF reaped < in_limit THEN
        reaped := reaped + {take_born}(born_mark, born_mark + 1000000, in_limit - reaped);
    END IF;
    RETURN reaped;
END $$;

-- The janitor's round, ridden by claims before they take the lock. Finds what claims alone would miss:
--   * expired leases and messages born leased whose time is over: moved to waiting at once;
--   * messages that were committed below the mark after it had passed them, or whose claim was rolled back
--     (setval() is not): lower_to is the first of them.
-- One round at a time. Normally it looks from a floor: when every transaction has ended that was running when
-- some number was the last handed out, all numbers up to it are final. A number can be drawn before its
-- transaction has an id; so the number is that of one round, the id that of the next, and every 30 s it looks from the
-- first number on. The more numbers a round goes through,
-- the longer the next one waits, so that rounds cost little whatever the number of pollers; with fewer than
-- 40,000 numbers in doubt that is at most a second.
CREATE FUNCTION {look}(in_limit bigint, OUT lower_to bigint, OUT raise_to bigint, OUT leases boolean,
                       OUT full_until bigint)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    numbers_per_ms CONSTANT bigint := 40;
    walk_min CONSTANT bigint := 400;
    walk_max CONSTANT bigint := 10000;
    now_ms bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    next_ms bigint := coalesce(pg_sequence_last_value('{look_at}'), 0);
    full_ms bigint := coalesce(pg_sequence_last_value('{full_look_at}'), 0);
    due_ms bigint := coalesce(pg_sequence_last_value('{lease_due}'), 0);
    mark bigint := coalesce(pg_sequence_last_value('{mark}'), 1);
    full_round boolean;
    settled boolean;
    old_number bigint;
    before bigint;
    old_xid bigint;
    new_number bigint;
    new_xid bigint;
    low bigint := 0;
    high bigint;
    walked bigint;
    pause_ms bigint;
BEGIN
    -- A time further ahead than it is ever set means that the clock was put back.
    leases := now_ms >= due_ms OR due_ms > now_ms + 30000;
    IF NOT leases AND now_ms < next_ms AND next_ms <= now_ms + 30000 THEN
        RETURN;
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('postroom look {lock}', 0)) THEN
        leases := false;
        RETURN;
    END IF;
    IF leases THEN
        PERFORM {take_back}(in_limit);
    END IF;
    IF now_ms < next_ms AND next_ms <= now_ms + 30000 THEN
        RETURN;
    END IF;
    -- Set ahead, and again at the end: a round that is cancelled must not be begun again by every claim.
    PERFORM setval('{look_at}', now_ms + 1000);
    full_round := now_ms >= full_ms OR full_ms > now_ms + 600000;
    IF NOT full_round THEN
        low := coalesce(pg_sequence_last_value('{floor}'), 0);
    END IF;

    -- A number is read a round before the transaction id that makes it final.
    old_number := coalesce(pg_sequence_last_value('{tick_number}'), 0);
    old_xid := pg_sequence_last_value('{tick_xid}');
    settled := coalesce(pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= old_xid, false);
    new_number := coalesce(pg_sequence_last_value('{number}'), 0);
    -- The next one to be given: the snapshot's own end lies before transactions that run while none later has ended.
    new_xid := pg_snapshot_xmax(pg_current_snapshot())::text::bigint
               + age(pg_snapshot_xmax(pg_current_snapshot())::xid);

    high := CASE WHEN settled THEN greatest(mark, old_number + 1) ELSE mark END;
    lower_to := (SELECT v.seq FROM {live} v
                  WHERE v.seq >= low AND v.seq < high AND v.born_until IS NULL
                    AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                  ORDER BY v.seq LIMIT 1);
    -- Further, the longer rounds were not due or nobody claimed, and the more there is to go through anyway.
    walked := {walk_born}(least(walk_max, walk_min + numbers_per_ms * greatest(0, now_ms - next_ms) + greatest(0, high - low)),
                          in_limit, CASE WHEN settled THEN old_number END, full_round);
    IF settled THEN
        raise_to := least(coalesce(lower_to, old_number + 1), old_number + 1);
        PERFORM setval('{floor}', greatest(1, raise_to));
    ELSIF lower_to < coalesce(pg_sequence_last_value('{floor}'), 1) THEN
        -- A full round found what the floor had passed; claims go no lower than that.
        PERFORM setval('{floor}', greatest(1, lower_to));
    END IF;

    pause_ms := least(30000, greatest(5, (greatest(0, coalesce(lower_to, high) - low) + least(walked, walk_min)) / numbers_per_ms));
    IF full_round THEN
        pause_ms := least(1000, pause_ms);
        full_until := now_ms + least(600000, greatest(30000, 20 * (
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint - now_ms)));
    END IF;
    -- In this order: should it end in between, an old number with a new transaction id is merely cautious. Not called: no
    -- number was handed out yet, not even the first.
    before := coalesce(pg_sequence_last_value('{next_tick}'), 0);
    PERFORM setval('{tick_xid}', greatest(1, new_xid)),
            setval('{tick_number}', greatest(1, before), before > 0),
            setval('{next_tick}', greatest(1, new_number), new_number > 0),
            setval('{look_at}', (extract(epoch FROM clock_timestamp()) * 1000)::bigint + pause_ms);
END $$;
