-- The janitor's round, ridden by claims before they take the lock. Finds what claims alone would miss:
--   * expired leases and messages born leased whose time is over: moved to waiting at once;
--   * messages that were committed below the mark after it had passed them, or whose claim was rolled back
--     (setval() is not): lower_to is the first of them.

-- Milliseconds since the epoch, as the shared notes hold times.
{define:function ms}(in_at timestamptz) RETURNS bigint LANGUAGE sql STABLE
RETURN (extract(epoch FROM in_at) * 1000)::bigint;

-- Where a round begins and ends. A number is final when every transaction has ended that was running when it was the
-- last handed out. It can be drawn before its transaction has an id; so the number is that of one round, the id that
-- of the next. Leaves the notes for the round after this one, which are read before anything is looked for.
{define:function turn_tick}(OUT final_number bigint) {step}
AS $$
DECLARE
    old_xid CONSTANT bigint := pg_sequence_last_value('{tick_xid}');
    before CONSTANT bigint := coalesce(pg_sequence_last_value('{next_tick}'), 0);
    new_number CONSTANT bigint := coalesce(pg_sequence_last_value('{number}'), 0);
    -- The next one to be given: the snapshot's own end lies before transactions that run while none later has ended.
    new_xid CONSTANT bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint
                               + age(pg_snapshot_xmax(pg_current_snapshot())::xid);
BEGIN
    IF pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= old_xid THEN
        final_number := coalesce(pg_sequence_last_value('{tick_number}'), 0);
    END IF;
    -- In this order: should it end in between, an old number with a new transaction id is merely cautious. Not called:
    -- no number was handed out yet, not even the first.
    PERFORM setval('{tick_xid}', greatest(1, new_xid)),
            setval('{tick_number}', greatest(1, before), before > 0),
            setval('{next_tick}', greatest(1, new_number), new_number > 0);
END $$;

-- Looks for messages below the mark that are claimable all the same. Normally from a floor, below which all numbers
-- are final and nothing claimable was left; in_full: from the first number on. in_late_ms: for how long rounds
-- were not due or nobody claimed. pause_ms: the more numbers a round goes through, the longer the next one waits, so
-- that rounds cost little whatever the number of pollers; with fewer than 40,000 numbers in doubt that is at most
-- a second.
{define:function look_below}(in_limit bigint, in_full boolean, in_late_ms bigint,
                             OUT lower_to bigint, OUT raise_to bigint, OUT pause_ms bigint) {step}
AS $$
DECLARE
    numbers_per_ms CONSTANT bigint := 40;
    walk_min CONSTANT bigint := 400;
    walk_max CONSTANT bigint := 10000;
    low CONSTANT bigint := CASE WHEN in_full THEN 0 ELSE coalesce(pg_sequence_last_value('{floor}'), 0) END;
    final_number CONSTANT bigint := {turn_tick}();
    high CONSTANT bigint := greatest(coalesce(pg_sequence_last_value('{mark}'), 1), final_number + 1);
    walked bigint;
BEGIN
    lower_to := (SELECT v.seq FROM {live} v
                  WHERE v.seq >= low AND v.seq < high AND v.born_until IS NULL
                    AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
                  ORDER BY v.seq LIMIT 1);
    -- Further, the later it is, and the more there is to go through anyway.
    walked := {walk_born}(
        least(walk_max, walk_min + numbers_per_ms * greatest(0, in_late_ms) + greatest(0, high - low)),
        in_limit, final_number, in_full);
    IF final_number IS NOT NULL THEN
        raise_to := least(coalesce(lower_to, final_number + 1), final_number + 1);
        PERFORM setval('{floor}', greatest(1, raise_to));
    ELSIF lower_to < coalesce(pg_sequence_last_value('{floor}'), 1) THEN
        -- A full round found what the floor had passed; claims go no lower than that.
        PERFORM setval('{floor}', greatest(1, lower_to));
    END IF;
    pause_ms := (greatest(0, coalesce(lower_to, high) - low) + least(walked, walk_min)) / numbers_per_ms;
    pause_ms := least(CASE WHEN in_full THEN 1000 ELSE 30000 END, greatest(5, pause_ms));
END $$;

-- One round, if it is due and nobody else is at it. Every 30 s it goes from the first number on, more rarely where
-- that takes long: full_until is when the next of those is due. leases: expired ones were taken back.
{define:function look}(in_limit bigint, OUT lower_to bigint, OUT raise_to bigint, OUT leases boolean,
                       OUT full_until bigint)
{pinned}
AS $$
DECLARE
    now_ms CONSTANT bigint := {ms}(clock_timestamp());
    next_ms CONSTANT bigint := coalesce(pg_sequence_last_value('{look_at}'), 0);
    full_ms CONSTANT bigint := coalesce(pg_sequence_last_value('{full_look_at}'), 0);
    due_ms CONSTANT bigint := coalesce(pg_sequence_last_value('{lease_due}'), 0);
    -- A time further ahead than it is ever set means that the clock was put back.
    early CONSTANT boolean := next_ms BETWEEN now_ms + 1 AND now_ms + 30000;
    full_round CONSTANT boolean := now_ms >= full_ms OR full_ms > now_ms + 600000;
    pause_ms bigint;
BEGIN
    leases := now_ms >= due_ms OR due_ms > now_ms + 30000;
    IF early AND NOT leases THEN
        RETURN;
    END IF;
    IF NOT {enter_look}() THEN
        leases := false;
        RETURN;
    END IF;
    IF leases THEN
        PERFORM {take_back}(in_limit);
    END IF;
    IF early THEN
        RETURN;
    END IF;
    -- Set ahead, and again at the end: a round that is cancelled must not be begun again by every claim.
    PERFORM setval('{look_at}', now_ms + 1000);
    SELECT b.lower_to, b.raise_to, b.pause_ms INTO lower_to, raise_to, pause_ms
      FROM {look_below}(in_limit, full_round, now_ms - next_ms) b;
    IF full_round THEN
        full_until := now_ms + least(600000, greatest(30000, 20 * ({ms}(clock_timestamp()) - now_ms)));
    END IF;
    PERFORM setval('{look_at}', {ms}(clock_timestamp()) + pause_ms);
END $$;
