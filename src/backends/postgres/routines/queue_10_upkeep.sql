-- Keeping a queue in order: parking messages, taking back what was lost.
--
-- All routines run with the rights of their caller and name every object with its schema. Those that are called from
-- outside are pinned: they carry their plan settings with them, so that neither search_path nor statistics of the
-- moment change what they do; the steps inside them run under the settings of their caller. Each table is
-- reached by its own index condition (= ANY, scalar sub-select); there are no joins to go wrong.

-- Failed attempts with one more, of which the last ones are kept. Without one they stay as they are.
{define:function with_attempt}(in_attempts jsonb, in_attempt jsonb) RETURNS jsonb LANGUAGE sql VOLATILE
RETURN CASE WHEN in_attempt IS NULL THEN in_attempts
            ELSE CASE WHEN jsonb_array_length(in_attempts) >= {attempts_kept} THEN in_attempts - 0
                      ELSE coalesce(in_attempts, '[]') END
                 || jsonb_build_array(in_attempt || jsonb_build_object(
                        'at', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)) END;

-- Moves messages from live to waiting. Whoever calls it holds the messages: a lease, a row lock. Without a
-- time they keep the one they had.
{define:function park}(in_seqs bigint[], in_available_at timestamptz, in_state smallint, in_reason text,
                       in_retries integer, in_losses integer, in_error text, in_attempt jsonb DEFAULT NULL)
RETURNS bigint {step}
AS $$
DECLARE
    moved bigint;
BEGIN
    -- A row that somebody wrote there with the number of one of these gives way.
    UPDATE {waiting} w SET seq = nextval('{number}')
     WHERE w.seq = ANY (in_seqs) AND (SELECT v.seq FROM {live} v WHERE v.seq = w.seq) IS NOT NULL;  -- never a join
    WITH gone AS (
        DELETE FROM {live} v WHERE v.seq = ANY (in_seqs) RETURNING v.*
    )
    INSERT INTO {waiting} ({columns:live}, available_at, state, dead_reason, retry_count, lost_count, last_error,
                           died_at, attempts)
    SELECT {values:live g}, coalesce(in_available_at, g.due_time, g.created_at), in_state, in_reason, in_retries,
           in_losses, in_error, CASE WHEN in_state = 3 THEN clock_timestamp() END, {with_attempt}(NULL, in_attempt)
      FROM gone g;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;

-- Whether a new message would stand behind one of the same ordering key that this very transaction wrote. Then it
-- may be marked at once: nobody sees either before both are there. Behind a message of another transaction it may
-- not, because that one can leave before this one is seen.
{define:function joins_own}(in_ordering_key text) RETURNS boolean {step}
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
{define:function take_back}(in_limit bigint) RETURNS bigint {pinned}
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
    -- The lease of a number that two rows have is that of the fresh one.
    in_waiting := ARRAY(SELECT w.seq FROM {waiting} w
                         WHERE w.seq = ANY (expired) AND (SELECT v.seq FROM {live} v WHERE v.seq = w.seq) IS NULL
                           FOR UPDATE SKIP LOCKED);
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

-- Takes back up to in_limit messages born leased, of these numbers, whose time is over and that have no lease of
-- their own.
{define:function take_born}(in_from bigint, in_to bigint, in_limit bigint) RETURNS bigint {pinned}
AS $$
DECLARE
    at timestamptz := clock_timestamp();
    expired bigint[];
BEGIN
    expired := ARRAY(SELECT v.seq FROM {live} v
                      WHERE v.seq >= in_from AND v.seq <= in_to AND {born_over}
                        AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                      ORDER BY v.seq LIMIT in_limit FOR UPDATE SKIP LOCKED);
    IF cardinality(expired) = 0 THEN
        RETURN 0;
    END IF;
    RETURN {park}(expired, at, 0::smallint, NULL, 0, 1, NULL);
END $$;

-- Messages born leased have no index, which would cost each of them as much as its acknowledgement, and nearly all are
-- gone in a moment. The few whose writer is gone are looked for among all of live, piece by piece: this is one piece,
-- of at most in_room messages. The next one goes on behind it, and at the end begins again at the mark, the first
-- that may be one. in_final: all numbers up to it are final, which lets the mark rise; NULL: not known. in_full: the
-- next time round begins with the first number. Returns how many messages it went over.
{define:function walk_born}(in_room bigint, in_limit bigint, in_final bigint, in_full boolean) RETURNS bigint {step}
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
           min(m.seq) FILTER (WHERE {born_over})
      INTO walked, last_walked, first_born, first_over
      FROM (SELECT v.seq, v.born_until FROM {live} v WHERE v.seq >= low ORDER BY v.seq LIMIT in_room) m;
    IF first_over IS NOT NULL THEN
        PERFORM {take_born}(first_over, last_walked, in_limit);
    END IF;
    IF begins THEN
        -- Up to the first of them; higher than before only as far as nothing more can come in. To lower it does no
        -- harm.
        mark := coalesce(first_born, CASE WHEN walked = in_room THEN last_walked + 1 END, in_final + 1, old_mark);
        mark := least(mark, greatest(in_final + 1, old_mark));
        PERFORM setval('{born_mark}', greatest(1, mark));
    END IF;
    PERFORM setval('{born_walk}', CASE WHEN walked = in_room THEN last_walked + 1 ELSE 1 END),
            setval('{born_lap}', CASE WHEN wants_full AND NOT begins THEN 2 ELSE 1 END);
    RETURN walked;
END $$;

-- For messages born leased it goes over a million numbers from the mark on, and over the newest half a million: whoever
-- writes one dies soon after, and behind a backlog the mark stays far below. What lies in between is found by rounds.
{define:function do_reap}(in_limit bigint) RETURNS bigint {pinned_path}
AS $$
DECLARE
    reaped bigint := {take_back}(in_limit);
    born_mark CONSTANT bigint := coalesce(pg_sequence_last_value('{born_mark}'), 1);
    behind CONSTANT bigint := born_mark + 1000000;
    newest CONSTANT bigint := coalesce(pg_sequence_last_value('{number}'), 0);
BEGIN
    IF reaped < in_limit THEN
        reaped := reaped + {take_born}(born_mark, behind, in_limit - reaped);
    END IF;
    IF reaped < in_limit AND newest > behind THEN
        reaped := reaped + {take_born}(greatest(behind + 1, newest - 500000), newest, in_limit - reaped);
    END IF;
    RETURN reaped;
END $$;
