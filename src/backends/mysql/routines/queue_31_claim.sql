-- Claim: choose and lease, then read. Neither engine has UPDATE ... RETURNING, and none is needed: a claim writes leases only
-- (the plan "lock, lease, read"), the same on MariaDB and MySQL. Claims take turns at {gate}; so what one of them sees of the
-- leases is what the claims before it left. Every choice walks an index in its order and stops at its limit, without locks: a
-- locking walk would also lock the row behind the last one, and with a sort every candidate. Then the chosen rows are locked by
-- their numbers, where others may change them too (SKIP LOCKED). The messages are read after the commit, so that nobody waits
-- for a client.

-- From where claims look. The lowest number that is there, be it uncommitted or leased, is the floor; READ UNCOMMITTED sees
-- those that are not committed yet. 100 numbers of slack are for those that were drawn and not yet written.
{define:procedure find_floor}(OUT out_floor BIGINT)
{reads} BEGIN
    -- Refused inside a transaction: a claim must be one of its own, or it would keep all others waiting.
    SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
    SELECT COALESCE((SELECT m.seq FROM {live} AS m FORCE INDEX (PRIMARY)
                      WHERE m.seq BETWEEN g.floor - 100 AND {last_number} ORDER BY m.seq LIMIT 1), g.mark)
      INTO out_floor
      FROM {gate} AS g WHERE g.name = 'claim';
    COMMIT;  -- without autocommit the SELECT has begun a transaction
END//

-- Leases the messages of in_seqs, if any, adds them to io_seqs and counts them in io_leased. There may be nulls in the list.
{define:procedure grant}(IN in_seqs LONGTEXT, {leasing})
{modifies} BEGIN
    {first_wins}
    IF in_seqs IS NOT NULL THEN
        INSERT INTO {lease} (seq, lease_id, locked_until, owner)
        SELECT s.seq, in_lease_id, in_until, in_owner
          FROM JSON_TABLE(in_seqs, {numbers}) AS s
         WHERE s.seq IS NOT NULL;
        SET io_leased = io_leased + ROW_COUNT(),
            io_seqs = IF(io_seqs IS NULL, in_seqs, JSON_MERGE_PRESERVE(io_seqs, in_seqs));
    END IF;
END//

-- The pass of the urgent messages, the first one: nothing is leased yet.
{define:procedure lease_urgent}(IN in_ceiling BIGINT, {leasing})
{modifies} BEGIN
    DECLARE v_set LONGTEXT;
    SELECT JSON_ARRAYAGG(d.seq) INTO v_set
      FROM (SELECT m.seq
              FROM {live} AS m FORCE INDEX (`{queue}_live_urgent`)
              LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
             WHERE m.urgency < 0 AND m.born_until IS NULL AND l.seq IS NULL AND m.seq BETWEEN 1 AND {last_number}
             ORDER BY m.urgency, m.seq LIMIT in_ceiling) AS d;
    {lock_chosen}
    CALL {grant}(v_set, {to_lease});
END//

-- Leases messages of a lane without ordering keys whose time has come, until in_ceiling are leased in all. What others have
-- locked is passed by, and the look goes on behind it.
{define:procedure lease_lane}(IN in_lane TINYINT, IN in_at DATETIME(6), IN in_ceiling BIGINT, {leasing})
{modifies} BEGIN
    DECLARE v_set LONGTEXT;
    DECLARE v_share BIGINT DEFAULT in_ceiling - io_leased;
    DECLARE v_chosen, v_free, v_passed, v_rounds BIGINT DEFAULT 0;
    WHILE v_share > 0 AND v_rounds < 100 DO
        SELECT JSON_ARRAYAGG(d.seq), COUNT(*) INTO v_set, v_chosen
          FROM (SELECT m.seq
                  FROM {waiting} AS m FORCE INDEX (`{queue}_waiting_lane`)
                  LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
                 WHERE m.lane = in_lane AND m.available_at <= in_at AND l.seq IS NULL AND {no_twin}
                 ORDER BY m.available_at, m.seq LIMIT v_passed, v_share) AS d;
        CALL {lock_waiting}(v_set, in_lane, in_at);
        SET v_free = COALESCE(JSON_LENGTH(v_set), 0);
        CALL {grant}(v_set, {to_lease});
        SET v_passed = v_passed + v_chosen - v_free,
            v_share = IF(v_chosen < v_share, 0, v_share - v_free),
            v_rounds = v_rounds + 1;
    END WHILE;
END//

-- Leases messages of in_lined that are first of an ordering key of which none is leased, until in_ceiling are leased in all.
-- What {key_lease} says of a key counts only while that message has it: a received message may come again with another key.
{define:procedure lease_keyed}(IN in_lined LONGTEXT, IN in_ceiling BIGINT, {leasing})
{modifies} BEGIN
    DECLARE v_set LONGTEXT;
    DECLARE v_share BIGINT DEFAULT in_ceiling - io_leased;
    IF in_lined IS NOT NULL AND v_share > 0 THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO v_set
          FROM (SELECT m.seq
                  FROM JSON_TABLE(in_lined, {numbers}) AS s
                  STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
                 WHERE m.behind = 0
                   AND (SELECT k.seq
                          FROM {key_lease} AS k STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = k.seq
                          STRAIGHT_JOIN {waiting} AS h FORCE INDEX (PRIMARY) ON h.seq = k.seq
                         WHERE k.ordering_key = m.ordering_key AND h.ordering_key = k.ordering_key) IS NULL
                   AND (SELECT l.seq FROM {lease} AS l WHERE l.seq = m.seq) IS NULL AND {no_twin}
                 ORDER BY m.available_at, m.seq LIMIT v_share) AS d;
        CALL {grant}(v_set, {to_lease});
        IF v_set IS NOT NULL THEN
            INSERT INTO {key_lease} (ordering_key, seq)
            SELECT m.ordering_key, m.seq
              FROM JSON_TABLE(v_set, {numbers}) AS s
              STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
                ON DUPLICATE KEY UPDATE seq = m.seq;
        END IF;
    END IF;
END//

-- The pass of the fresh messages, from in_from on, until in_batch are leased in all. io_mark: above the last one that was
-- leased. Messages born leased whose time is over are found on the way and wait from now on; io_born: how many.
{define:procedure lease_fresh}(IN in_from BIGINT, IN in_batch BIGINT, IN in_at DATETIME(6), INOUT io_mark BIGINT,
                               INOUT io_born BIGINT, {leasing})
{modifies} BEGIN
    DECLARE v_from BIGINT DEFAULT in_from;
    DECLARE v_room, v_last, v_count, v_rounds BIGINT DEFAULT 0;
    DECLARE v_set LONGTEXT;
    DECLARE v_full BOOLEAN;
    REPEAT
        SET v_room = in_batch - io_leased;
        -- Those that were born leased are counted, and a null in the list.
        SELECT JSON_ARRAYAGG(IF(d.born_until IS NULL, d.seq, NULL)), COALESCE(MAX(d.seq), v_last), COUNT(*),
               io_born + COUNT(d.born_until)
          INTO v_set, v_last, v_count, io_born
          FROM (SELECT m.seq, m.born_until
                  FROM {live} AS m FORCE INDEX (PRIMARY)
                  LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
                 WHERE m.seq BETWEEN v_from AND {last_number} AND l.seq IS NULL AND COALESCE(m.born_until <= in_at, TRUE)
                 ORDER BY m.seq LIMIT v_room) AS d;
        -- A full batch says nothing about what lies above it, whatever was known before.
        SET v_full = v_count = v_room;
        IF v_count > 0 THEN
            SET io_mark = IF(v_full, v_last + 1, GREATEST(io_mark, v_last + 1));
            {lock_chosen}
            CALL {grant}(v_set, {to_lease});
        END IF;
        SET v_from = v_last + 1, v_rounds = v_rounds + 1;
    UNTIL NOT v_full OR io_leased >= in_batch OR v_rounds >= 100 END REPEAT;
    -- No further than the choice above went.
    IF io_born > 0 THEN
        CALL {take_born}(in_from, IF(v_full, v_last, {no_end}), GREATEST(in_batch, 100), v_count);
    END IF;
END//

-- How a batch is shared, for claims that no library works out the numbers for: claim_passes() of the library, which says what
-- they mean, in SQL.
{define:procedure claim_passes}(IN in_batch BIGINT, IN in_number BIGINT, OUT out_urgent_to BIGINT, OUT out_keyed_to BIGINT,
                                OUT out_due_to BIGINT, OUT out_low_to BIGINT, OUT out_keyed_again_to BIGINT)
{reads} BEGIN
    DECLARE v_by_age BOOLEAN DEFAULT in_number % 4 = 3;
    DECLARE v_index BIGINT DEFAULT IF(v_by_age, in_number DIV 4, in_number DIV 4 * 3 + in_number % 4);
    DECLARE v_waited BIGINT DEFAULT (in_batch + v_index % 2) DIV 2;
    DECLARE v_low BIGINT DEFAULT IF(v_by_age, (v_waited + v_index DIV 4 % 2) DIV 2, 0);
    SET out_urgent_to = IF(v_by_age, 0, in_batch), out_keyed_to = (v_waited - v_low + v_index DIV 2 % 2) DIV 2,
        out_due_to = v_waited - v_low, out_low_to = IF(v_by_age, v_waited, 0), out_keyed_again_to = v_index % 2 * in_batch;
END//

-- Leases up to in_batch messages, pass by pass, and returns their numbers. Each pass leases messages of one band until so many
-- are leased in all as its ceiling says: urgent, keyed, due, low, fresh, then keyed again, due, keyed and low for what is left of
-- the batch. The caller computes the ceilings, which differ from claim to claim. Mostly there are fresh messages and nothing
-- else: one look tells what need not be searched for. out_looked: whether there was room to look at fresh messages.
{define:procedure lease_bands}(IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_lease_us BIGINT, IN in_batch BIGINT,
                               {ceilings}, IN in_from BIGINT, INOUT io_mark BIGINT, OUT out_looked BOOLEAN, OUT io_seqs LONGTEXT)
{modifies} BEGIN
    DECLARE v_born BIGINT DEFAULT 0;
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    -- Named as the passes know them.
    DECLARE io_leased BIGINT DEFAULT 0;
    DECLARE in_until DATETIME(6) DEFAULT v_at + INTERVAL in_lease_us MICROSECOND;
    DECLARE v_lined LONGTEXT;
    DECLARE v_urgent, v_keyed, v_due BOOLEAN;
    SELECT EXISTS (SELECT m.seq FROM {live} AS m FORCE INDEX (`{queue}_live_urgent`) WHERE m.urgency < 0 LIMIT 1),
           EXISTS (SELECT t.id FROM {turn} AS t LIMIT 1),
           EXISTS (SELECT m.seq FROM {waiting} AS m FORCE INDEX (`{queue}_waiting_lane`)
                    WHERE m.lane IN (0, 1, 2) AND m.available_at <= v_at LIMIT 1)
      INTO v_urgent, v_keyed, v_due;
    IF v_due AND NOT v_keyed THEN
        SELECT EXISTS (SELECT m.seq FROM {waiting} AS m FORCE INDEX (`{queue}_waiting_lane`)
                        WHERE m.lane = 2 AND m.available_at <= v_at LIMIT 1)
          INTO v_keyed;
    END IF;
    IF v_urgent AND in_urgent_to > 0 THEN
        CALL {lease_urgent}(in_urgent_to, {to_lease});
    END IF;
    IF v_keyed AND io_leased < in_batch THEN
        CALL {line_up}(v_at, GREATEST(1000, 4 * in_batch), v_lined);
        CALL {lease_keyed}(v_lined, in_keyed_to, {to_lease});
    END IF;
    IF v_due THEN
        CALL {lease_lane}(0, v_at, in_due_to, {to_lease});
        CALL {lease_lane}(1, v_at, in_low_to, {to_lease});
    END IF;
    SET out_looked = io_leased < in_batch;
    IF out_looked THEN
        CALL {lease_fresh}(in_from, in_batch, v_at, io_mark, v_born, {to_lease});
    END IF;
    IF io_leased < in_batch AND (v_born > 0 OR v_due OR v_lined IS NOT NULL) THEN
        CALL {lease_keyed}(v_lined, in_keyed_again_to, {to_lease});
        -- What was taken back a moment ago is due now, and its new lease begins now: not before the end of the old one.
        SET v_at = UTC_TIMESTAMP(6), in_until = v_at + INTERVAL in_lease_us MICROSECOND;
        CALL {lease_lane}(0, v_at, in_batch, {to_lease});
        CALL {lease_keyed}(v_lined, in_batch, {to_lease});
        CALL {lease_lane}(1, v_at, in_batch, {to_lease});
    END IF;
END//

-- The clock was put back by in_back_us: whatever was given a time meanwhile would keep it for that much longer. Leases, also
-- those that messages were born with, end as long after now as they were to last; a message that waits for another attempt may
-- come early. What a user has asked for stays. Nobody is waited for: whoever has a row locked is about to delete it or to give
-- it another time.
{define:procedure follow_clock}(IN in_at DATETIME(6), IN in_back_us BIGINT)
{modifies} BEGIN
    DECLARE v_leases, v_waiting, v_born LONGTEXT;
    SELECT JSON_ARRAYAGG(d.seq) INTO v_leases
      FROM (SELECT l.seq FROM {lease} AS l FORCE INDEX (PRIMARY)
             WHERE l.seq > 0 AND l.locked_until > in_at FOR UPDATE SKIP LOCKED) AS d;
    UPDATE JSON_TABLE(COALESCE(v_leases, '[]'), {numbers}) AS s
    STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
       SET l.locked_until = GREATEST(in_at, l.locked_until - INTERVAL in_back_us MICROSECOND);
    SELECT JSON_ARRAYAGG(d.seq) INTO v_waiting
      FROM (SELECT m.seq FROM {waiting} AS m FORCE INDEX (`{queue}_waiting_lane`)
             WHERE m.lane IN (0, 1, 2) AND m.available_at > in_at AND m.retry_count + m.lost_count > 0
               FOR UPDATE SKIP LOCKED) AS d;
    UPDATE JSON_TABLE(COALESCE(v_waiting, '[]'), {numbers}) AS s
    STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
       SET m.available_at = GREATEST(in_at, COALESCE(m.due_time, in_at), m.available_at - INTERVAL in_back_us MICROSECOND);
    SELECT JSON_ARRAYAGG(d.seq) INTO v_born
      FROM (SELECT m.seq FROM {live} AS m FORCE INDEX (PRIMARY)
             WHERE m.seq > 0 AND m.born_until > in_at FOR UPDATE SKIP LOCKED) AS d;
    UPDATE JSON_TABLE(COALESCE(v_born, '[]'), {numbers}) AS s
    STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
       SET m.born_until = GREATEST(in_at, m.born_until - INTERVAL in_back_us MICROSECOND);
    -- Followed once; and where everything is looked at anew, nothing else that was noted matters.
    UPDATE {gate} AS g SET g.look_at = in_at, g.full_look_at = in_at WHERE g.name = 'claim';
END//

-- One claim in a transaction of its own; out_seqs: what it leased, NULL for nothing. While fewer than 1000 numbers are in
-- doubt, or once a second, it looks at all messages from the floor on; every 30 seconds at all there are; otherwise from the
-- mark. A look for which there was no room is not over. Leases are searched for expired ones when the first may be. A time that
-- lies further ahead than it is ever set was set before the clock was put back, by that much at least.
{define:procedure lease_batch}(IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_lease_us BIGINT, IN in_batch BIGINT,
                               {ceilings}, OUT out_seqs LONGTEXT)
{modifies} BEGIN
    DECLARE v_floor, v_old_floor, v_mark, v_old_mark, v_from, v_count BIGINT;
    DECLARE v_looked BOOLEAN;
    DECLARE v_at, v_look_at, v_full_look_at, v_lease_due, v_old_lease_due DATETIME(6);
    DECLARE v_next_look_at, v_next_full_look_at DATETIME(6) DEFAULT NULL;
    CALL {find_floor}(v_floor);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        SELECT g.mark, g.mark, g.floor, g.look_at, g.full_look_at, g.lease_due, g.lease_due
          INTO v_mark, v_old_mark, v_old_floor, v_look_at, v_full_look_at, v_lease_due, v_old_lease_due
          FROM {gate} AS g WHERE g.name = 'claim' FOR UPDATE;
        SET v_at = UTC_TIMESTAMP(6), v_from = v_mark - 100;
        IF v_full_look_at > v_at + INTERVAL 30 SECOND THEN
            CALL {follow_clock}(v_at, TIMESTAMPDIFF(MICROSECOND, v_at + INTERVAL 30 SECOND, v_full_look_at));
        END IF;
        IF v_full_look_at <= v_at OR v_full_look_at > v_at + INTERVAL 30 SECOND THEN
            SET v_from = 0, v_next_full_look_at = v_at + INTERVAL 30 SECOND, v_next_look_at = v_at + INTERVAL 1 SECOND;
        ELSEIF v_mark - v_floor <= 1000 THEN
            SET v_from = LEAST(v_from, v_floor - 100);
        ELSEIF v_look_at <= v_at OR v_look_at > v_at + INTERVAL 1 SECOND THEN
            SET v_from = LEAST(v_from, v_floor - 100), v_next_look_at = v_at + INTERVAL 1 SECOND;
        END IF;
        IF v_lease_due <= v_at OR v_lease_due > v_at + INTERVAL 30 SECOND THEN
            CALL {take_back}(GREATEST(in_batch, 100), v_count);
            SELECT LEAST(COALESCE(MIN(l.locked_until), v_at + INTERVAL 30 SECOND), v_at + INTERVAL 30 SECOND)
              INTO v_lease_due FROM {lease} AS l;
        END IF;
        CALL {lease_bands}(in_owner, in_lease_id, in_lease_us, in_batch, {to_ceilings}, v_from, v_mark, v_looked, out_seqs);
        IF v_looked AND v_next_look_at IS NOT NULL THEN
            UPDATE {gate} AS g
               SET g.look_at = v_next_look_at, g.full_look_at = COALESCE(v_next_full_look_at, g.full_look_at)
             WHERE g.name = 'claim';
        END IF;
        IF out_seqs IS NOT NULL THEN
            SET v_lease_due = LEAST(v_lease_due, v_at + INTERVAL in_lease_us MICROSECOND);
        END IF;
        IF v_mark <> v_old_mark OR v_lease_due <> v_old_lease_due OR v_floor > v_old_floor + 100 THEN
            UPDATE {gate} AS g SET g.mark = v_mark, g.floor = v_floor, g.lease_due = v_lease_due WHERE g.name = 'claim';
        END IF;
        COMMIT;
    END;
END//

-- For the library: one round trip.
{define:procedure do_claim_within}(IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_lease_us BIGINT, IN in_batch BIGINT,
                                   {ceilings}, IN in_bytes BIGINT, IN in_of_one BIGINT)
{modifies} BEGIN
    DECLARE v_seqs LONGTEXT;
    CALL {lease_batch}(in_owner, in_lease_id, in_lease_us, in_batch, {to_ceilings}, v_seqs);
    IF v_seqs IS NOT NULL THEN
        CALL {read_within}(in_lease_id, v_seqs, in_bytes, in_of_one);
    END IF;
END//

-- As earlier libraries of this schema call it: all messages, whatever their size.
{define:procedure do_claim}(IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_lease_us BIGINT, IN in_batch BIGINT, {ceilings})
{modifies} BEGIN
    CALL {do_claim_within}(in_owner, in_lease_id, in_lease_us, in_batch, {to_ceilings}, {no_end}, 0);
END//
