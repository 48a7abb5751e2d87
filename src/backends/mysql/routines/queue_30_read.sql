-- Looking. One view for each table, which a query on numbers reaches by its primary key (a view over a UNION is copied
-- before it is searched), and over them the views for people and tools. An expired lease shows as ready, with its owner.
-- What is over is the history in the outbox; in the inbox it is the keys of messages that are not queued, which have the number
-- 0, and a payload if they are done.

{define:view in_live} AS
SELECT {row:live}
  FROM {live} AS m{with_key}
  LEFT JOIN {lease} AS l ON l.seq = m.seq//

{define:view in_waiting} AS
SELECT {row:waiting}
  FROM {waiting} AS m{with_key}
  LEFT JOIN {lease} AS l ON l.seq = m.seq//

{define:view in_past} AS
SELECT {row_past}
  FROM {past}//

{define:view view} AS
SELECT {columns:row v}, {view_extras} FROM {in_live} AS v
UNION ALL
SELECT {columns:row v}, {view_extras} FROM {in_waiting} AS v
UNION ALL
SELECT {columns:row v}, {view_extras} FROM {in_past} AS v//

-- Without the leases: nothing is in progress here.
{define:view status} AS
SELECT {resting_live} FROM {live} AS m{with_key}
UNION ALL
SELECT {resting_waiting} FROM {waiting} AS m{with_key}
UNION ALL
SELECT {resting_past} FROM {past}//

-- Which messages of a lease, with numbers from in_first to in_last, go beyond in_bytes of payload and headers in all: a JSON array,
-- NULL for none. The first of them does not, unless it goes beyond in_of_one. Mostly none does, and one sum tells.
{define:procedure beyond_bytes}(IN in_lease_id BIGINT, IN in_first BIGINT, IN in_last BIGINT, IN in_bytes BIGINT,
                                IN in_of_one BIGINT, OUT out_beyond LONGTEXT)
{reads} BEGIN
    DECLARE v_bytes DECIMAL(30);
    SELECT COALESCE((SELECT SUM({content_bytes}) FROM {leased} {live} {by_number}), 0)
               + COALESCE((SELECT SUM({content_bytes}) FROM {leased} {waiting} {by_number}), 0)
      INTO v_bytes;
    IF v_bytes > in_bytes THEN
        SELECT JSON_ARRAYAGG(s.seq) INTO out_beyond
          FROM (SELECT b.seq, b.bytes, SUM(b.bytes) OVER (ORDER BY b.seq) AS bytes_in_all
                  FROM (SELECT m.seq, {content_bytes} AS bytes FROM {leased} {live} {by_number}
                        UNION ALL
                        SELECT m.seq, {content_bytes} FROM {leased} {waiting} {by_number}) AS b) AS s
         WHERE s.bytes_in_all > in_bytes AND NOT (s.bytes_in_all = s.bytes AND s.bytes <= in_of_one);
    END IF;
END//

-- Those of in_seqs that a lease holds, fresh ones in one result and those that waited, if there are any, in another. They are
-- found by walking the leases from the lowest number to the highest: there are few between that are not of this lease. Those
-- that go beyond in_bytes come without payload and headers, and the last column tells their size.
{define:procedure read_within}(IN in_lease_id BIGINT, IN in_seqs LONGTEXT, IN in_bytes BIGINT, IN in_of_one BIGINT)
{reads} BEGIN
    DECLARE v_count BIGINT;
    DECLARE in_first, in_last BIGINT;  -- named as the phrases know them
    DECLARE v_beyond LONGTEXT;
    SELECT MIN(s.seq), MAX(s.seq), COUNT(s.seq) INTO in_first, in_last, v_count
      FROM JSON_TABLE(in_seqs, {numbers}) AS s;
    CALL {beyond_bytes}(in_lease_id, in_first, in_last, in_bytes, in_of_one, v_beyond);
    SELECT {leased_live}, {beyond_size} FROM {leased} {live} {by_number};
    IF FOUND_ROWS() < v_count THEN
        SELECT {leased_waiting}, {beyond_size} FROM {leased} {waiting} {by_number};
    END IF;
END//
