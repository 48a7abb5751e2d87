-- Messages with an ordering key: which of them may go. For claims only, under the claim lock: each statement here has
-- a snapshot younger than the claims before.
--
-- A message found waiting behind another is marked, and no claim looks at it again until the key has a note in
-- {turn}. The note is committed together with what made room, so a claim that marks without knowing of it is
-- followed by one that finds both. A row that somebody else changes at this moment is passed by, and its note stays.
--
-- "The first of a key" is asked for by a range and in the order of the line's index: for "= k ORDER BY seq" the
-- planner would rather walk the primary key where statistics say that one key has nearly all messages.

-- Reads up to in_looks notes, and takes the mark off whoever is first of those keys now.
{define:function heed_notes}(in_looks bigint) RETURNS void {step}
AS $$
DECLARE
    notes bigint[];
    keys text[];
    firsts bigint[];
    busy text[];
BEGIN
    SELECT array_agg(n.id), array_agg(n.ordering_key) INTO notes, keys
      FROM (SELECT t.id, t.ordering_key FROM {turn} t ORDER BY t.id LIMIT in_looks) n;
    IF notes IS NULL THEN
        RETURN;
    END IF;
    firsts := ARRAY(SELECT (SELECT b.seq FROM {waiting} b
                             WHERE b.ordering_key >= k AND b.ordering_key <= k AND NOT b.frees_key
                             ORDER BY b.ordering_key, b.seq LIMIT 1)
                      FROM unnest(keys) k);
    UPDATE {waiting} w SET behind = false
     WHERE w.seq = ANY (ARRAY(SELECT f.seq FROM {waiting} f
                               WHERE f.seq = ANY (firsts) AND f.behind FOR UPDATE SKIP LOCKED));
    busy := ARRAY(SELECT w.ordering_key FROM {waiting} w WHERE w.seq = ANY (firsts) AND w.behind);
    DELETE FROM {turn} t WHERE t.id = ANY (notes) AND t.ordering_key <> ALL (busy);
END $$;

-- Locks and returns up to in_room messages that are the first of their key, of which none is leased, longest due
-- first. At most in_room * 4, or 1000, messages and notes are looked at.
{define:function line_up}(in_at timestamptz, in_room bigint) RETURNS bigint[] {step}
AS $$
DECLARE
    looks CONSTANT bigint := greatest(1000, 4 * in_room);
    last_at timestamptz;
    last_seq bigint;
BEGIN
    PERFORM {heed_notes}(looks);
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
               AND {earlier_of_key} IS NOT NULL
             ORDER BY c.available_at, c.seq FOR UPDATE SKIP LOCKED));
    RETURN ARRAY(
        SELECT c.seq FROM {waiting} c
         WHERE c.state = 0 AND c.ordering_key IS NOT NULL AND NOT c.behind
           AND (c.available_at, c.seq) <= (last_at, last_seq)
           AND (SELECT l.seq FROM {lease} l WHERE l.seq = c.seq) IS NULL
           AND (SELECT l.seq FROM {lease} l WHERE l.ordering_key = c.ordering_key) IS NULL
           AND (SELECT v.seq FROM {live} v WHERE v.seq = c.seq) IS NULL
           AND {earlier_of_key} IS NULL
         ORDER BY c.available_at, c.seq LIMIT in_room FOR UPDATE SKIP LOCKED);
END $$;

-- How long a lease on an ordering key may last that is held now, with one of in_lease_ms from now on. What is noted is forgotten
-- when nobody can hold a lease of that length any more, so that one long claim does not make keys rest for ever after each crash.
-- Whatever changes must be known after a crash, so that claim waits for the flush.
{define:function note_longest}(in_at_ms bigint, in_lease_ms bigint) RETURNS bigint {step}
AS $$
DECLARE
    longest bigint := coalesce(pg_sequence_last_value('{longest_lease}'), 0);
    until CONSTANT bigint := pg_sequence_last_value('{longest_until}');
    -- A time further ahead than it is ever set means that the clock was put back.
    known CONSTANT boolean := coalesce(until <= in_at_ms + 2 * longest, false);
BEGIN
    IF known AND until < in_at_ms THEN
        longest := 0;
    ELSIF known AND (in_lease_ms < longest OR (in_lease_ms = longest AND until >= in_at_ms + longest)) THEN
        RETURN longest;
    END IF;
    longest := greatest(longest, in_lease_ms);
    PERFORM setval('{longest_lease}', longest), setval('{longest_until}', in_at_ms + 2 * longest),
            set_config('synchronous_commit', 'on', true);
    RETURN longest;
END $$;

-- Whether messages with an ordering key may be claimed at in_at. After the leases were lost they wait for as long as
-- one of them can have lasted, and no longer, wherever the clock was when that was found.
{define:function leases_known}(in_at timestamptz, in_lease_us bigint) RETURNS boolean {step}
AS $$
DECLARE
    at_ms CONSTANT bigint := {ms}(in_at);
    longest_ms CONSTANT bigint := {note_longest}(at_ms, greatest(1, in_lease_us / 1000));
    ordered_from bigint := pg_sequence_last_value('{ordered_from}');
BEGIN
    IF ordered_from IS NULL OR ordered_from > at_ms + longest_ms THEN
        ordered_from := at_ms + longest_ms;
        PERFORM setval('{ordered_from}', ordered_from);
    END IF;
    RETURN ordered_from <= at_ms;
END $$;
