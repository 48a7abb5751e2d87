-- Reading: the messages of a lease, and views for people and tools.

-- Which of these messages go beyond in_bytes of payload and headers in all; the first of them does not, unless it goes
-- beyond in_of_one.
{define:function beyond_bytes}(in_seqs bigint[], in_bytes bigint, in_of_one bigint) RETURNS bigint[] {step}
AS $$
BEGIN
    RETURN ARRAY(
        SELECT s.seq
          FROM (SELECT b.seq, b.bytes, sum(b.bytes) OVER (ORDER BY b.seq) AS bytes_in_all
                  FROM (SELECT m.seq, {content_bytes} AS bytes FROM {live} m WHERE m.seq = ANY (in_seqs)
                        UNION ALL
                        SELECT m.seq, {content_bytes} FROM {waiting} m WHERE m.seq = ANY (in_seqs)) b) s
         WHERE s.bytes_in_all > in_bytes AND NOT (s.bytes_in_all = s.bytes AND s.bytes <= in_of_one));
END $$;

-- The messages that a lease holds, in the columns and the order in which the library reads them; those that go
-- first come first. Those that go beyond in_bytes come without payload and headers, and content_bytes tells their size.
{define:function do_read}(in_lease_id bigint, in_bytes bigint, in_of_one bigint)
RETURNS TABLE ({row_types}, content_bytes bigint) {pinned}
AS $$
#variable_conflict use_column
DECLARE
    held bigint[];
    holder uuid;
    any_urgent boolean;
    ends timestamptz;  -- all of them were leased by one claim; the earliest, should they differ
    first_seq bigint;
    last_seq bigint;
    starts bigint[];
    stops bigint[];
    urgent bigint[] := '{}';
    beyond bigint[] := '{}';
    bytes_in_all numeric;
    plain_rows bigint;
    urgent_rows bigint := 0;
BEGIN
    -- One claim made all of these leases, for one holder.
    SELECT array_agg(l.seq), min(l.locked_until), min(l.seq), max(l.seq), (array_agg(l.owner))[1],
           (SELECT v.seq FROM {live} v WHERE v.priority > 0 LIMIT 1) IS NOT NULL
      INTO held, ends, first_seq, last_seq, holder, any_urgent
      FROM {lease} l WHERE l.lease_id = in_lease_id;
    IF held IS NULL THEN
        RETURN;
    END IF;
    -- Mostly the numbers are one run, and one search finds them all.
    IF last_seq - first_seq + 1 = cardinality(held) THEN
        starts := ARRAY[first_seq];
        stops := ARRAY[last_seq];
    ELSE
        starts := held;
        stops := held;
    END IF;
    -- Mostly none goes beyond, and one sum tells.
    SELECT count(*), coalesce(sum({content_bytes}), 0) INTO plain_rows, bytes_in_all
      FROM unnest(starts, stops) AS run (first, last),
           LATERAL (SELECT * FROM {live} f WHERE f.seq >= run.first AND f.seq <= run.last OFFSET 0) m;
    IF plain_rows < cardinality(held) THEN
        bytes_in_all := bytes_in_all
                        + coalesce((SELECT sum({content_bytes}) FROM {waiting} m WHERE m.seq = ANY (held)), 0);
    END IF;
    IF bytes_in_all > in_bytes THEN
        beyond := {beyond_bytes}(held, in_bytes, in_of_one);
    END IF;
    IF any_urgent THEN
        urgent := ARRAY(SELECT v.seq FROM {live} v WHERE v.seq = ANY (held) AND v.priority > 0);
    END IF;
    IF cardinality(urgent) > 0 THEN
        RETURN QUERY
        SELECT {held_live}, {beyond_size} FROM {live} m {lateral_key}
         WHERE m.seq = ANY (urgent) ORDER BY m.priority DESC, m.seq;
        GET DIAGNOSTICS urgent_rows = ROW_COUNT;
    END IF;
    RETURN QUERY
    SELECT {held_live}, {beyond_size}
      FROM unnest(starts, stops) AS run (first, last),
           LATERAL (SELECT * FROM {live} f WHERE f.seq >= run.first AND f.seq <= run.last OFFSET 0) m {lateral_key}
     WHERE m.seq <> ALL (urgent);
    GET DIAGNOSTICS plain_rows = ROW_COUNT;
    IF urgent_rows + plain_rows < cardinality(held) THEN
        RETURN QUERY SELECT {held_waiting}, {beyond_size} FROM {waiting} m {lateral_key} WHERE m.seq = ANY (held);
    END IF;
END $$;

-- As earlier libraries of this schema call it: all of them, whatever their size.
{define:function do_read}(in_lease_id bigint) RETURNS TABLE ({row_types}) {pinned_sql}
AS $$ SELECT {columns:row r} FROM {do_read}(in_lease_id, 9223372036854775807, 0) r $$;

-- Every message in every state; inbox messages that are not queued (seen, done, marked) have no number.
{define:view view} AS
SELECT m.*, {item_id}(m.seq, m.nonce) AS id, m.state = 2 AS is_processed, m.owner AS owner_token,
       m.available_at AS next_attempt_at, m.state AS status, {documented}
  FROM (
    SELECT {row:live} FROM {live} m LEFT JOIN {lease} l ON l.seq = m.seq {join_key}
    UNION ALL
    SELECT {row:waiting} FROM {waiting} m LEFT JOIN {lease} l ON l.seq = m.seq {join_key}
    UNION ALL
    SELECT {past_rows}
  ) m;

-- Every message without its lease, for standby servers: an unlogged table cannot be read there.
{define:view status} AS
SELECT {status_columns}, {item_id}(m.seq, m.nonce) AS id, m.state = 2 AS is_processed,
       m.available_at AS next_attempt_at, m.state AS status, {documented}
  FROM (
    SELECT {row:live} FROM {live} m CROSS JOIN {no_lease} l {join_key}
    UNION ALL
    SELECT {row:waiting} FROM {waiting} m CROSS JOIN {no_lease} l {join_key}
    UNION ALL
    SELECT {past_rows}
  ) m;

-- How much lies in the queue. Leases of messages that are gone are few and short-lived; what is born leased is among the newest.
-- Of more than {counted_max} that wait, some pages are counted for all of them; of dead ones no more than that are counted one by
-- one. Compiling the query would take longer than it does.
{define:function do_counts}(in_old_attempts bigint)
RETURNS TABLE (ready bigint, in_progress bigint, dead bigint, seen bigint, retrying bigint, oldest timestamptz,
               estimated integer, old_failures bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
SELECT greatest(0, v.total + (w.ready / w.share)::bigint - p.leased - b.born), p.leased + b.born,
       CASE WHEN w.dead_counted < {counted_max} THEN w.dead_counted ELSE (w.dead / w.share)::bigint END + {keys_dead}, {keys_seen},
       (w.retrying / w.share)::bigint, least(v.oldest, w.oldest), greatest(v.estimated, (w.share < 1)::integer),
       (w.old_failures / w.share)::bigint
  FROM (SELECT c.n + CASE WHEN c.n = {counted_max} THEN (SELECT max(h.seq) FROM {live} h) - c.last ELSE 0 END AS total,
               c.oldest, (c.n = {counted_max})::integer AS estimated
          FROM (SELECT count(*) AS n, max(f.seq) AS last, min(f.created_at) AS oldest
                  FROM (SELECT m.seq, m.created_at FROM {live} m ORDER BY m.seq LIMIT {counted_max}) f) c) v,
       (SELECT count(*) FILTER (WHERE m.born_until > statement_timestamp()
                                AND (SELECT l.seq FROM {lease} l WHERE l.seq = m.seq) IS NULL) AS born
          FROM (SELECT n.seq, n.born_until FROM {live} n ORDER BY n.seq DESC LIMIT {counted_max}) m) b,
       (SELECT s.ready, s.dead, s.retrying, s.old_failures, f.share, coalesce(f.oldest, s.oldest) AS oldest,
               (SELECT count(*) FROM (SELECT FROM {waiting} d WHERE d.state = 3 LIMIT {counted_max}) d) AS dead_counted
          FROM (SELECT CASE WHEN count(*) < {counted_max} THEN 1
                            ELSE least(1, 500.0 / greatest(1, pg_relation_size('{waiting}') / 8192)) END AS share,
                       min(o.created_at) FILTER (WHERE o.state = 0) AS oldest
                  FROM (SELECT m.created_at, m.state FROM {waiting} m ORDER BY m.seq LIMIT {counted_max}) o) f,
               LATERAL (SELECT count(*) FILTER (WHERE m.state = 0) AS ready, count(*) FILTER (WHERE m.state = 3) AS dead,
                               count(*) FILTER (WHERE m.state = 0 AND m.retry_count > 0) AS retrying,
                               count(*) FILTER (WHERE m.state = 0 AND m.retry_count >= in_old_attempts) AS old_failures,
                               min(m.created_at) FILTER (WHERE m.state = 0) AS oldest
                          FROM {waiting} m TABLESAMPLE SYSTEM (100 * f.share) REPEATABLE (0)) s) w,
       (SELECT count(*) AS leased FROM {lease} WHERE locked_until > statement_timestamp()) p
$$;

-- As earlier libraries of this schema call it.
{define:function do_counts}()
RETURNS TABLE (ready bigint, in_progress bigint, dead bigint, seen bigint, retrying bigint, oldest timestamptz,
               estimated integer)
{pinned_sql}
AS $$ SELECT c.ready, c.in_progress, c.dead, c.seen, c.retrying, c.oldest, c.estimated FROM {do_counts}(0) c $$;
