-- What keeps a queue in order: parking, taking back what was lost, lining up ordering keys.
--
-- The rules of locking, which everybody keeps. Rows are locked in the order key, message, lease. Claims, reaps and extends wait
-- for no row at all (SKIP LOCKED), claims only for each other at {gate}. Sets of numbers are JSON arrays, and each table
-- is reached from such a set by its primary key, leases by a scalar sub-select: what EXISTS is made of depends on statistics.
-- FORCE INDEX because a table of few rows would rather be read from end to end, and what changes or locks rows that way waits for
-- all that others have locked. All procedures run with the rights of their caller.

-- Begins a transaction unless there is one; out_own: whether it did. The isolation level of the next transaction can be set
-- only outside of one, which is how a procedure learns where it is. Without autocommit the caller is always inside.
{define:procedure begin_own}(OUT out_own BOOLEAN)
{computes} BEGIN
    SET out_own = @@autocommit = 1;
    IF out_own THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1568 SET out_own = FALSE;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END;
        IF out_own THEN
            START TRANSACTION;
        END IF;
    END IF;
END//

-- A number for a message that has no place in {live}: numbers come from one source. The row that draws it lives and dies in
-- the caller's transaction.
{define:procedure draw}(OUT out_seq BIGINT)
{modifies} BEGIN
    INSERT INTO {live} (nonce, source, message_id, topic, payload) VALUES (0, '-', '-', '-', '');
    SET out_seq = LAST_INSERT_ID();
    DELETE FROM {live} WHERE seq = out_seq;
END//

-- Rows that somebody wrote to {waiting} with the number of a message in {live} get other numbers.
{define:procedure make_way}(IN in_seqs LONGTEXT)
{modifies} BEGIN
    DECLARE v_twin, v_new BIGINT;
    REPEAT
        SELECT MIN(w.seq) INTO v_twin
          FROM JSON_TABLE(in_seqs, {numbers}) AS s
          STRAIGHT_JOIN {waiting} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq;
        IF v_twin IS NOT NULL THEN
            CALL {draw}(v_new);
            UPDATE {waiting} SET seq = v_new WHERE seq = v_twin;
        END IF;
    UNTIL v_twin IS NULL END REPEAT;
END//

-- Moves messages of {live} to {waiting}. Whoever calls it holds them: a lease, a row lock. Without a time they keep the one
-- they had.
{define:procedure park}(IN in_seqs LONGTEXT, IN in_available_at DATETIME(6), IN in_state TINYINT, IN in_reason VARCHAR(64),
                        IN in_retries INT, IN in_losses INT, IN in_error MEDIUMTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    {first_wins}
    CALL {make_way}(in_seqs);
    INSERT INTO {waiting} ({columns:live}, available_at, state, dead_reason, retry_count, lost_count, last_error, died_at)
    SELECT {columns:live m},
           COALESCE(in_available_at, m.due_time, m.created_at), in_state, in_reason, in_retries, in_losses, in_error,
           IF(in_state = 3, UTC_TIMESTAMP(6), NULL)
      FROM JSON_TABLE(in_seqs, {numbers}) AS s
      STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
    DELETE m
      FROM JSON_TABLE(in_seqs, {numbers}) AS s
      STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
END//

-- Ends the leases of in_expired, which the caller has locked, unless somebody has the message locked.
{define:procedure lose}(IN in_expired LONGTEXT, IN in_at DATETIME(6), OUT out_count BIGINT)
{modifies} BEGIN
    DECLARE v_live, v_waiting, v_gone LONGTEXT;
    SELECT JSON_ARRAYAGG(d.seq) INTO v_live
      FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_expired, {numbers}) AS j) AS s
            STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq FOR UPDATE SKIP LOCKED) AS d;
    -- The lease of a number that two rows have is that of the fresh one.
    SELECT JSON_ARRAYAGG(d.seq) INTO v_waiting
      FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_expired, {numbers}) AS j) AS s
            STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq FOR UPDATE SKIP LOCKED) AS d
     WHERE (SELECT v.seq FROM {live} AS v WHERE v.seq = d.seq) IS NULL;
    -- Leases of messages that are gone go too; those of messages locked by others stay.
    SELECT JSON_ARRAYAGG(s.seq) INTO v_gone
      FROM JSON_TABLE(in_expired, {numbers}) AS s
     WHERE (SELECT m.seq FROM {live} AS m WHERE m.seq = s.seq) IS NULL
       AND (SELECT m.seq FROM {waiting} AS m WHERE m.seq = s.seq) IS NULL;
    IF v_live IS NOT NULL THEN
        CALL {park}(v_live, in_at, 0, NULL, 0, 1, NULL);
    END IF;
    IF v_waiting IS NOT NULL THEN
        UPDATE JSON_TABLE(v_waiting, {numbers}) AS s
        STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
           SET m.lost_count = m.lost_count + 1, m.available_at = in_at
         WHERE m.state = 0;
    END IF;
    SET v_gone = JSON_MERGE_PRESERVE(COALESCE(v_gone, '[]'), COALESCE(v_live, '[]'), COALESCE(v_waiting, '[]'));
    DELETE l
      FROM JSON_TABLE(v_gone, {numbers}) AS s
      STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq;
    SET out_count = COALESCE(JSON_LENGTH(v_live), 0) + COALESCE(JSON_LENGTH(v_waiting), 0);
END//

-- Takes back up to in_limit leases that have run out. A message that somebody settles or changes at this moment is left
-- for the next time, and the look goes on behind it. A stale settle that comes later finds no lease and changes nothing.
{define:procedure take_back}(IN in_limit BIGINT, OUT out_count BIGINT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_expired LONGTEXT;
    DECLARE v_room BIGINT DEFAULT in_limit;
    DECLARE v_after, v_last, v_taken BIGINT DEFAULT 0;
    DECLARE v_full BOOLEAN;
    SET out_count = 0;
    REPEAT
        SELECT JSON_ARRAYAGG(d.seq), MAX(d.seq), COUNT(*) >= v_room INTO v_expired, v_last, v_full
          FROM (SELECT l.seq FROM {lease} AS l FORCE INDEX (PRIMARY) WHERE l.seq > v_after AND l.locked_until <= v_at
                 ORDER BY l.seq LIMIT v_room) AS d;
        SET v_after = v_last;
        IF v_expired IS NOT NULL THEN
            SELECT JSON_ARRAYAGG(d.seq) INTO v_expired
              FROM (SELECT l.seq FROM (SELECT j.seq FROM JSON_TABLE(v_expired, {numbers}) AS j) AS s
                    STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
                     WHERE l.locked_until <= v_at FOR UPDATE SKIP LOCKED) AS d;
        END IF;
        IF v_expired IS NOT NULL THEN
            CALL {lose}(v_expired, v_at, v_taken);
            SET out_count = out_count + v_taken, v_room = in_limit - out_count;
        END IF;
    UNTIL NOT v_full OR v_room <= 0 END REPEAT;
END//

-- Takes back up to in_limit messages that were born leased, from in_from to in_to, whose time is over and that have no lease of
-- their own.
{define:procedure take_born}(IN in_from BIGINT, IN in_to BIGINT, IN in_limit BIGINT, OUT out_count BIGINT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_born LONGTEXT;
    DECLARE v_room BIGINT DEFAULT in_limit;
    DECLARE v_from BIGINT DEFAULT in_from;
    DECLARE v_last BIGINT;
    DECLARE v_full BOOLEAN;
    SET out_count = 0;
    REPEAT
        SELECT JSON_ARRAYAGG(d.seq), MAX(d.seq), COUNT(*) >= v_room INTO v_born, v_last, v_full
          FROM (SELECT m.seq FROM {live} AS m FORCE INDEX (PRIMARY)
                 WHERE m.seq BETWEEN v_from AND in_to AND m.born_until <= v_at
                   AND (SELECT l.seq FROM {lease} AS l WHERE l.seq = m.seq) IS NULL
                 ORDER BY m.seq LIMIT v_room) AS d;
        SET v_from = v_last + 1;
        IF v_born IS NOT NULL THEN
            SELECT JSON_ARRAYAGG(d.seq) INTO v_born
              FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(v_born, {numbers}) AS j) AS s
                    STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq FOR UPDATE SKIP LOCKED) AS d;
        END IF;
        -- Once they are locked nobody gives them a lease any more; some may have got one a moment ago.
        IF v_born IS NOT NULL THEN
            SELECT JSON_ARRAYAGG(s.seq) INTO v_born
              FROM JSON_TABLE(v_born, {numbers}) AS s
             WHERE (SELECT l.seq FROM {lease} AS l WHERE l.seq = s.seq) IS NULL;
        END IF;
        IF v_born IS NOT NULL THEN
            CALL {park}(v_born, v_at, 0, NULL, 0, 1, NULL);
            SET out_count = out_count + JSON_LENGTH(v_born), v_room = in_limit - out_count;
        END IF;
    UNTIL NOT v_full OR v_room <= 0 END REPEAT;
END//

{define:procedure do_reap}(IN in_limit BIGINT)
{modifies} BEGIN
    DECLARE v_leases, v_born BIGINT DEFAULT 0;
    CALL {take_back}(in_limit, v_leases);
    IF v_leases < in_limit THEN
        CALL {take_born}(0, {no_end}, in_limit - v_leases, v_born);
    END IF;
    SELECT v_leases + v_born AS reaped;
END//

-- Of io_seqs, those that nobody else is changing and that are still in their lane and due; locks them.
{define:procedure lock_waiting}(INOUT io_seqs LONGTEXT, IN in_lane TINYINT, IN in_at DATETIME(6))
{reads} BEGIN
    IF io_seqs IS NOT NULL THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO io_seqs
          FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(io_seqs, {numbers}) AS j) AS s
                STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
                 WHERE m.lane = in_lane AND m.available_at <= in_at FOR UPDATE SKIP LOCKED) AS d;
    END IF;
END//

{define:procedure set_behind}(IN in_seqs LONGTEXT, IN in_behind TINYINT)
{modifies} BEGIN
    IF in_seqs IS NOT NULL THEN
        UPDATE JSON_TABLE(in_seqs, {numbers}) AS s
        STRAIGHT_JOIN {waiting} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq SET w.behind = in_behind;
    END IF;
END//

-- Works off up to in_looks notes of {turn}: whoever is first of its ordering key now is behind nobody. For claims only, under
-- {gate}. A note is committed together with what made room, so a claim that marks without knowing of it is followed by one that
-- finds both. A row that somebody else changes at this moment is passed by, and its note stays.
{define:procedure step_forward}(IN in_looks BIGINT)
{modifies} BEGIN
    DECLARE v_notes, v_firsts, v_set LONGTEXT;
    SELECT JSON_ARRAYAGG(d.id) INTO v_notes FROM (SELECT t.id FROM {turn} AS t ORDER BY t.id LIMIT in_looks) AS d;
    IF v_notes IS NOT NULL THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO v_firsts
          FROM (SELECT DISTINCT (SELECT b.seq FROM {first_of_key}) AS seq
                  FROM JSON_TABLE(v_notes, '$[*]' COLUMNS (id BIGINT PATH '$')) AS n
                  STRAIGHT_JOIN {turn} AS t FORCE INDEX (PRIMARY) ON t.id = n.id) AS d
         WHERE d.seq IS NOT NULL;
        IF v_firsts IS NOT NULL THEN
            SELECT JSON_ARRAYAGG(d.seq) INTO v_set
              FROM (SELECT w.seq FROM (SELECT j.seq FROM JSON_TABLE(v_firsts, {numbers}) AS j) AS s
                    STRAIGHT_JOIN {waiting} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
                     WHERE w.behind = 1 FOR UPDATE SKIP LOCKED) AS d;
            CALL {set_behind}(v_set, 0);
        END IF;
        SELECT JSON_ARRAYAGG(n.id) INTO v_set
          FROM JSON_TABLE(v_notes, '$[*]' COLUMNS (id BIGINT PATH '$')) AS n
          STRAIGHT_JOIN {turn} AS t FORCE INDEX (PRIMARY) ON t.id = n.id
         WHERE COALESCE((SELECT b.behind FROM {first_of_key}), 0) = 0;
        IF v_set IS NOT NULL THEN
            DELETE t FROM JSON_TABLE(v_set, '$[*]' COLUMNS (id BIGINT PATH '$')) AS n
            STRAIGHT_JOIN {turn} AS t FORCE INDEX (PRIMARY) ON t.id = n.id;
        END IF;
    END IF;
END//

-- Messages with an ordering key whose time has come: locks up to in_looks of them, sets `behind` of those that stand
-- behind another, and returns them all. For claims only, under {gate}.
{define:procedure line_up}(IN in_at DATETIME(6), IN in_looks BIGINT, OUT out_seqs LONGTEXT)
{modifies} BEGIN
    DECLARE v_set LONGTEXT;
    CALL {step_forward}(in_looks);
    SELECT JSON_ARRAYAGG(d.seq) INTO out_seqs
      FROM (SELECT c.seq FROM {waiting} AS c FORCE INDEX (`{queue}_waiting_lane`)
             WHERE c.lane = 2 AND c.available_at <= in_at
               AND (SELECT l.seq FROM {lease} AS l WHERE l.seq = c.seq) IS NULL
             ORDER BY c.available_at, c.seq LIMIT in_looks) AS d;
    CALL {lock_waiting}(out_seqs, 2, in_at);
    IF out_seqs IS NOT NULL THEN
        SELECT JSON_ARRAYAGG(s.seq) INTO v_set
          FROM JSON_TABLE(out_seqs, {numbers}) AS s
          STRAIGHT_JOIN {waiting} AS c FORCE INDEX (PRIMARY) ON c.seq = s.seq
         WHERE (SELECT b.seq FROM {waiting} AS b FORCE INDEX (`{queue}_waiting_line`)
                 WHERE b.ordering_key = c.ordering_key AND b.frees_key = 0 AND b.seq < c.seq
                 ORDER BY b.seq LIMIT 1) IS NOT NULL;
        CALL {set_behind}(v_set, 1);
    END IF;
END//
