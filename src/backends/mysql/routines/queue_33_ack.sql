-- Acknowledging: messages go, all that a call was given at once. Outside of any transaction a call is one by itself, and goes by
-- runs of numbers where it can.

-- Removes messages that the caller holds and has locked, fresh ones and those that waited; out_seqs: all of them.
{define:procedure remove}(IN in_live LONGTEXT, IN in_waiting LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT,
                          OUT out_seqs LONGTEXT)
{modifies} BEGIN
    IF in_live IS NOT NULL OR in_waiting IS NOT NULL THEN
        CALL {finish}(in_live, in_waiting, in_owner, in_keep);
    END IF;
    IF in_live IS NOT NULL THEN
        DELETE m, l
          FROM JSON_TABLE(in_live, {numbers}) AS s
          STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq;
    END IF;
    IF in_waiting IS NOT NULL THEN
        INSERT INTO {turn} (ordering_key)
        SELECT m.ordering_key
          FROM JSON_TABLE(in_waiting, {numbers}) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
         WHERE m.ordering_key IS NOT NULL;
        DELETE k
          FROM JSON_TABLE(in_waiting, {numbers}) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          STRAIGHT_JOIN {key_lease} AS k FORCE INDEX (PRIMARY) ON k.ordering_key = m.ordering_key
         WHERE k.seq = m.seq;
        DELETE m, l
          FROM JSON_TABLE(in_waiting, {numbers}) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq;
    END IF;
    SET out_seqs = IF(in_live IS NULL OR in_waiting IS NULL, COALESCE(in_live, in_waiting),
                      JSON_MERGE_PRESERVE(in_live, in_waiting));
END//

-- Removes the messages that the lease holds; out_seqs: which, NULL for none. What the queue does with them before is its own.
{define:procedure acknowledge}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                               IN in_keep TINYINT, OUT out_seqs LONGTEXT)
{modifies} BEGIN
    DECLARE v_live, v_waiting LONGTEXT;
    {lock_given}
    SELECT JSON_ARRAYAGG(m.seq) INTO v_live
      FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, {numbers}) AS j
             WHERE (SELECT w.seq FROM {waiting} AS w WHERE w.seq = j.seq) IS NULL) AS s
      STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
      LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
     WHERE m.nonce IN {given_nonces} AND COALESCE(l.lease_id, m.lease_id) = in_lease_id
       FOR UPDATE;
    IF COALESCE(JSON_LENGTH(v_live), 0) < JSON_LENGTH(in_seqs) THEN
        SELECT JSON_ARRAYAGG(m.seq) INTO v_waiting
          FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, {numbers}) AS j) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
         WHERE m.nonce IN {given_nonces} AND l.lease_id = in_lease_id
           FOR UPDATE;
    END IF;
    CALL {remove}(v_live, v_waiting, in_owner, in_keep, out_seqs);
END//

-- Removes messages of several leases; in_rows: [seq, nonce, lease_id] of each, no message twice.
{define:procedure acknowledge_rows}(IN in_rows LONGTEXT, IN in_seqs LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT,
                                    OUT out_seqs LONGTEXT)
{modifies} BEGIN
    DECLARE v_live, v_waiting LONGTEXT;
    {lock_given}
    SELECT JSON_ARRAYAGG(m.seq) INTO v_live
      FROM (SELECT j.seq, j.nonce, j.lease_id
              FROM JSON_TABLE(in_rows, {lease_rows}) AS j
             WHERE (SELECT w.seq FROM {waiting} AS w WHERE w.seq = j.seq) IS NULL) AS s
      STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
      LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
     WHERE m.nonce = s.nonce AND COALESCE(l.lease_id, m.lease_id) = s.lease_id
       FOR UPDATE;
    IF COALESCE(JSON_LENGTH(v_live), 0) < JSON_LENGTH(in_seqs) THEN
        SELECT JSON_ARRAYAGG(m.seq) INTO v_waiting
          FROM (SELECT j.seq, j.nonce, j.lease_id FROM JSON_TABLE(in_rows, {lease_rows}) AS j) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
         WHERE m.nonce = s.nonce AND l.lease_id = s.lease_id
           FOR UPDATE;
    END IF;
    CALL {remove}(v_live, v_waiting, in_owner, in_keep, out_seqs);
END//

-- The runs of numbers without gaps in in_seqs, as first:count,first:count. None when there are so many that going from row to
-- row costs less.
{define:procedure find_runs}(IN in_seqs LONGTEXT, IN in_total BIGINT, OUT out_runs VARCHAR(1024) CHARACTER SET ascii,
                             OUT out_count BIGINT)
{computes} BEGIN
    SELECT LEFT(GROUP_CONCAT(d.first, ':', d.count ORDER BY d.first), 1024), COUNT(*) INTO out_runs, out_count
      FROM (SELECT MIN(s.seq) AS first, COUNT(*) AS count
              FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (place FOR ORDINALITY, seq BIGINT PATH '$')) AS s
             GROUP BY s.seq - CAST(s.place AS SIGNED)) AS d;
    SET out_count = IF(out_count > LEAST(16, GREATEST(1, in_total DIV 4)), 0, out_count);
END//

-- Removes fresh messages that come in a few runs without gaps between their numbers, as claims mostly lease them and writers
-- mostly write them: a range of each table instead of one row after the other. Numbers, nonces and lease ids are in the order
-- of the numbers. out_all: whether it did; if not, nothing has changed, and nothing is known. Only in a transaction of its own:
-- that is READ COMMITTED, which locks no gaps, and short, so that locks of a try that failed do not last. A LIMIT ends each
-- walk at its last row, or it would wait for whoever has the next one locked. Whoever gives or ends a lease has the message
-- locked, so leases are looked at once the messages are ours; nonces never change.
{define:procedure acknowledge_runs}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_leases LONGTEXT, IN in_owner BINARY(16),
                                    IN in_keep TINYINT, OUT out_all BOOLEAN)
{modifies} BEGIN
    DECLARE v_runs, v_run VARCHAR(1024) CHARACTER SET ascii DEFAULT '';
    DECLARE v_next, v_run_count, v_first, v_last, v_count, v_leased BIGINT DEFAULT 0;
    DECLARE v_nonces, v_leases, v_found, v_born, v_held LONGTEXT;
    DECLARE v_total BIGINT DEFAULT LENGTH(in_seqs) - LENGTH(REPLACE(in_seqs, ',', '')) + 1;
    IF LENGTH(in_seqs) > 2 THEN
        SET v_first = CAST(SUBSTRING_INDEX(SUBSTR(in_seqs, 2, LENGTH(in_seqs) - 2), ',', 1) AS SIGNED);
    END IF;
    IF v_total = 1 OR SUBSTRING_INDEX(in_seqs, ',', -1) = CONCAT(v_first + v_total - 1, ']') THEN
        SET v_runs = CONCAT(v_first, ':', v_total), v_run_count = 1;
    ELSE
        CALL {find_runs}(in_seqs, v_total, v_runs, v_run_count);
    END IF;
    SET out_all = v_run_count > 0;
    IF out_all THEN
        SAVEPOINT postroom_runs;
        WHILE out_all AND v_next < v_run_count DO
            SET v_next = v_next + 1,
                v_run = SUBSTRING_INDEX(SUBSTRING_INDEX(v_runs, ',', v_next), ',', -1),
                v_first = CAST(SUBSTRING_INDEX(v_run, ':', 1) AS SIGNED),
                v_count = CAST(SUBSTRING_INDEX(v_run, ':', -1) AS SIGNED),
                v_last = v_first + v_count - 1;
            SELECT GROUP_CONCAT(m.nonce), GROUP_CONCAT(m.lease_id), COUNT(*) = v_count INTO v_found, v_born, out_all
              FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN v_first AND v_last;
            IF out_all THEN
                CALL {finish_run}(v_first, v_last, in_owner, in_keep);
                DELETE FROM {live} WHERE seq BETWEEN v_first AND v_last ORDER BY seq LIMIT v_count;
                SET out_all = ROW_COUNT() = v_count;
            END IF;
            IF out_all THEN
                SELECT GROUP_CONCAT(l.lease_id), COUNT(*) INTO v_held, v_leased
                  FROM {lease} AS l FORCE INDEX (PRIMARY) WHERE l.seq BETWEEN v_first AND v_last;
                SET v_nonces = CONCAT_WS(',', v_nonces, v_found),
                    v_leases = CONCAT_WS(',', v_leases, IF(v_leased = 0, v_born, v_held)),
                    out_all = v_leased IN (0, v_count);
            END IF;
            IF out_all AND v_leased > 0 THEN
                DELETE FROM {lease} WHERE seq BETWEEN v_first AND v_last ORDER BY seq LIMIT v_count;
                SET out_all = ROW_COUNT() = v_count;
            END IF;
        END WHILE;
        SET out_all = out_all AND CONCAT('[', v_nonces, ']') = in_nonces AND CONCAT('[', v_leases, ']') = in_leases;
        IF NOT COALESCE(out_all, FALSE) THEN
            SET out_all = FALSE;
            ROLLBACK TO SAVEPOINT postroom_runs;
        END IF;
    END IF;
END//

-- As the library calls it: what was acknowledged comes back as rows.
{define:procedure do_ack}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                          IN in_keep TINYINT)
{modifies} BEGIN
    DECLARE v_acked LONGTEXT;
    DECLARE v_all BOOLEAN DEFAULT FALSE;
    {own_transaction}
    CALL {begin_own}(v_own);
    IF v_own THEN
        CALL {acknowledge_runs}(
            in_seqs, in_nonces,
            CONCAT('[', REPEAT(CONCAT(in_lease_id, ','), LENGTH(in_seqs) - LENGTH(REPLACE(in_seqs, ',', ''))), in_lease_id, ']'),
            in_owner, in_keep, v_all);
    END IF;
    IF v_all THEN
        SET v_acked = in_seqs;
    ELSE
        CALL {acknowledge}(in_seqs, in_nonces, in_lease_id, in_owner, in_keep, v_acked);
    END IF;
    {commit_own}
    IF v_acked IS NOT NULL THEN
        SELECT s.seq FROM JSON_TABLE(v_acked, {numbers}) AS s;
    END IF;
END//

-- For messages of several leases; in_rows as {acknowledge_rows} takes them.
{define:procedure do_ack_rows}(IN in_rows LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT)
{modifies} BEGIN
    DECLARE v_seqs, v_nonces, v_leases, v_acked LONGTEXT;
    DECLARE v_all BOOLEAN DEFAULT FALSE;
    {own_transaction}
    -- MySQL puts blanks between the numbers.
    SELECT REPLACE(JSON_ARRAYAGG(j.seq), ' ', ''), REPLACE(JSON_ARRAYAGG(j.nonce), ' ', ''),
           REPLACE(JSON_ARRAYAGG(j.lease_id), ' ', '')
      INTO v_seqs, v_nonces, v_leases
      FROM JSON_TABLE(in_rows, {lease_rows}) AS j;
    CALL {begin_own}(v_own);
    IF v_own THEN
        CALL {acknowledge_runs}(v_seqs, v_nonces, v_leases, in_owner, in_keep, v_all);
    END IF;
    IF v_all THEN
        SET v_acked = v_seqs;
    ELSE
        CALL {acknowledge_rows}(in_rows, v_seqs, in_owner, in_keep, v_acked);
    END IF;
    {commit_own}
    IF v_acked IS NOT NULL THEN
        SELECT s.seq FROM JSON_TABLE(v_acked, {numbers}) AS s;
    END IF;
END//
