-- Claim: choose and lease, then read. Neither engine has UPDATE ... RETURNING, and none is needed: a claim writes leases only
-- (the plan "lock, lease, read"), the same on MariaDB and MySQL. Claims take turns at {gate}; so what one of them sees of the
-- leases is what the claims before it left. Every choice walks an index in its order and stops at its limit, without locks: a
-- locking walk would also lock the row behind the last one, and with a sort every candidate. Then the chosen rows are locked by
-- their numbers, where others may change them too (SKIP LOCKED). The messages are read after the commit, so that nobody waits
-- for a client.

DELIMITER //
-- From where claims look. The lowest number that is there, be it uncommitted or leased, is the floor; READ UNCOMMITTED sees
-- those that are not committed yet. 100 numbers of slack are for those that were drawn and not yet written.
DROP PROCEDURE IF EXISTS {find_floor}//
CREATE PROCEDURE {find_floor}(OUT out_floor BIGINT)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    -- Refused inside a transaction: a claim must be one of its own, or it would keep all others waiting.
    SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
    SELECT COALESCE((SELECT m.seq FROM {live} AS m FORCE INDEX (PRIMARY)
                      WHERE m.seq >= g.floor - 100 ORDER BY m.seq LIMIT 1), g.mark)
      INTO out_floor
      FROM {gate} AS g WHERE g.name = 'claim';
    COMMIT;  -- without autocommit the SELECT has begun a transaction
END//

-- Of io_seqs, those that nobody else is changing and that are still in their lane and due; locks them.
DROP PROCEDURE IF EXISTS {lock_waiting}//
CREATE PROCEDURE {lock_waiting}(INOUT io_seqs LONGTEXT, IN in_lane TINYINT, IN in_at DATETIME(6))
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    IF io_seqs IS NOT NULL THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO io_seqs
          FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(io_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
                STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
                 WHERE m.lane = in_lane AND m.available_at <= in_at FOR UPDATE SKIP LOCKED) AS d;
    END IF;
END//

-- Leases the messages of in_seqs, if any, adds them to io_seqs and takes them off io_room. There may be nulls in the list.
DROP PROCEDURE IF EXISTS {add_leases}//
CREATE PROCEDURE {add_leases}(IN in_seqs LONGTEXT, IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_until DATETIME(6),
                              INOUT io_seqs LONGTEXT, INOUT io_room BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    -- As in {park}.
    DECLARE EXIT HANDLER FOR 1062
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'another node of the cluster came first';
    IF in_seqs IS NOT NULL THEN
        INSERT INTO {lease} (seq, lease_id, locked_until, owner)
        SELECT s.seq, in_lease_id, in_until, in_owner
          FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
         WHERE s.seq IS NOT NULL;
        SET io_room = io_room - ROW_COUNT(),
            io_seqs = IF(io_seqs IS NULL, in_seqs, JSON_MERGE_PRESERVE(io_seqs, in_seqs));
    END IF;
END//

-- Leases up to in_share messages of a lane without ordering keys whose time has come.
DROP PROCEDURE IF EXISTS {lease_waiting}//
CREATE PROCEDURE {lease_waiting}(IN in_lane TINYINT, IN in_at DATETIME(6), IN in_share BIGINT, IN in_owner BINARY(16),
                                 IN in_lease_id BIGINT, IN in_until DATETIME(6), INOUT io_seqs LONGTEXT, INOUT io_room BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_set LONGTEXT;
    DECLARE v_share BIGINT DEFAULT in_share;
    DECLARE v_chosen, v_free, v_passed, v_rounds BIGINT DEFAULT 0;
    WHILE v_share > 0 AND v_rounds < 100 DO
        SELECT JSON_ARRAYAGG(d.seq), COUNT(*) INTO v_set, v_chosen
          FROM (SELECT m.seq
                  FROM {waiting} AS m FORCE INDEX (`{queue}_waiting_lane`)
                  LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
                 WHERE m.lane = in_lane AND m.available_at <= in_at AND l.seq IS NULL
                 ORDER BY m.available_at, m.seq LIMIT v_passed, v_share) AS d;
        CALL {lock_waiting}(v_set, in_lane, in_at);
        SET v_free = COALESCE(JSON_LENGTH(v_set), 0);
        CALL {add_leases}(v_set, in_owner, in_lease_id, in_until, io_seqs, io_room);
        SET v_passed = v_passed + v_chosen - v_free,
            v_share = IF(v_chosen < v_share, 0, v_share - v_free),
            v_rounds = v_rounds + 1;
    END WHILE;
END//

-- Leases up to in_share messages of in_lined that are first of an ordering key of which none is leased. What {key_lease} says of
-- a key counts only while that message has it: a received message may come again with another key.
DROP PROCEDURE IF EXISTS {lease_lined}//
CREATE PROCEDURE {lease_lined}(IN in_lined LONGTEXT, IN in_share BIGINT, IN in_owner BINARY(16), IN in_lease_id BIGINT,
                               IN in_until DATETIME(6), INOUT io_seqs LONGTEXT, INOUT io_room BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_set LONGTEXT;
    IF in_lined IS NOT NULL AND in_share > 0 THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO v_set
          FROM (SELECT m.seq
                  FROM JSON_TABLE(in_lined, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
                  STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
                 WHERE m.behind = 0
                   AND (SELECT k.seq
                          FROM {key_lease} AS k STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = k.seq
                          STRAIGHT_JOIN {waiting} AS h FORCE INDEX (PRIMARY) ON h.seq = k.seq
                         WHERE k.ordering_key = m.ordering_key AND h.ordering_key = k.ordering_key) IS NULL
                   AND (SELECT l.seq FROM {lease} AS l WHERE l.seq = m.seq) IS NULL
                 ORDER BY m.available_at, m.seq LIMIT in_share) AS d;
        CALL {add_leases}(v_set, in_owner, in_lease_id, in_until, io_seqs, io_room);
        IF v_set IS NOT NULL THEN
            INSERT INTO {key_lease} (ordering_key, seq)
            SELECT m.ordering_key, m.seq
              FROM JSON_TABLE(v_set, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
              STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
                ON DUPLICATE KEY UPDATE seq = m.seq;
        END IF;
    END IF;
END//

-- Leases up to in_batch messages and returns their numbers. Above-default priority first except in every fourth turn, which goes
-- by age; half of the rest is for messages whose time came (and half of that half for ordering keys), half for fresh ones, and
-- either may use what the other leaves; below-default last. Mostly there are fresh messages and nothing else: one look tells what
-- need not be searched for. out_looked: whether there was room to look at fresh messages.
DROP PROCEDURE IF EXISTS {choose}//
CREATE PROCEDURE {choose}(IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_lease_us BIGINT, IN in_batch BIGINT,
                          IN in_turn BIGINT, IN in_from BIGINT, INOUT io_mark BIGINT, OUT out_looked BOOLEAN,
                          OUT out_seqs LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_by_age BOOLEAN DEFAULT in_turn % 4 = 3;
    DECLARE v_room BIGINT DEFAULT in_batch;
    DECLARE v_from BIGINT DEFAULT in_from;
    DECLARE v_last, v_count, v_born, v_rounds BIGINT DEFAULT 0;
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_until DATETIME(6) DEFAULT v_at + INTERVAL in_lease_us MICROSECOND;
    DECLARE v_lined, v_set LONGTEXT;
    DECLARE v_urgent, v_any_lined, v_due, v_full BOOLEAN;
    SET out_seqs = NULL, out_looked = FALSE;

    SELECT EXISTS (SELECT m.seq FROM {live} AS m FORCE INDEX (`{queue}_live_urgent`) WHERE m.urgency < 0 LIMIT 1),
           EXISTS (SELECT t.id FROM {turn} AS t LIMIT 1),
           EXISTS (SELECT m.seq FROM {waiting} AS m FORCE INDEX (`{queue}_waiting_lane`)
                    WHERE m.lane IN (0, 1, 2) AND m.available_at <= v_at LIMIT 1)
      INTO v_urgent, v_any_lined, v_due;
    IF v_due AND NOT v_any_lined THEN
        SELECT EXISTS (SELECT m.seq FROM {waiting} AS m FORCE INDEX (`{queue}_waiting_lane`)
                        WHERE m.lane = 2 AND m.available_at <= v_at LIMIT 1)
          INTO v_any_lined;
    END IF;

    IF v_urgent AND NOT v_by_age THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO v_set
          FROM (SELECT m.seq
                  FROM {live} AS m FORCE INDEX (`{queue}_live_urgent`)
                  LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
                 WHERE m.urgency < 0 AND m.born_until IS NULL AND l.seq IS NULL
                 ORDER BY m.urgency, m.seq LIMIT v_room) AS d;
        CALL {lock_fresh}(v_set);
        CALL {add_leases}(v_set, in_owner, in_lease_id, v_until, out_seqs, v_room);
    ELSEIF v_due AND v_by_age THEN
        CALL {lease_waiting}(1, v_at, ((v_room + 1) DIV 2 + 1) DIV 2, in_owner, in_lease_id, v_until, out_seqs, v_room);
    END IF;

    IF v_any_lined AND v_room > 0 THEN
        CALL {line_up}(v_at, GREATEST(1000, 4 * in_batch), v_lined);
        CALL {lease_lined}(v_lined, ((v_room + in_turn DIV 4) DIV 2 + in_turn % 2) DIV 2, in_owner, in_lease_id, v_until,
                           out_seqs, v_room);
    END IF;
    IF v_due THEN
        CALL {lease_waiting}(0, v_at, (v_room + in_turn DIV 4) DIV 2, in_owner, in_lease_id, v_until, out_seqs, v_room);
    END IF;

    IF v_room > 0 THEN
        SET out_looked = TRUE;
        REPEAT
            -- Messages born leased whose time is over are counted, and a null in the list.
            SELECT JSON_ARRAYAGG(IF(d.born_until IS NULL, d.seq, NULL)), COALESCE(MAX(d.seq), v_last), COUNT(*),
                   v_born + COUNT(d.born_until)
              INTO v_set, v_last, v_count, v_born
              FROM (SELECT m.seq, m.born_until
                      FROM {live} AS m FORCE INDEX (PRIMARY)
                      LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
                     WHERE m.seq >= v_from AND l.seq IS NULL AND COALESCE(m.born_until <= v_at, TRUE)
                     ORDER BY m.seq LIMIT v_room) AS d;
            -- A full batch says nothing about what lies above it, whatever was known before.
            SET v_full = v_count = v_room;
            IF v_count > 0 THEN
                SET io_mark = IF(v_full, v_last + 1, GREATEST(io_mark, v_last + 1));
                CALL {lock_fresh}(v_set);
                CALL {add_leases}(v_set, in_owner, in_lease_id, v_until, out_seqs, v_room);
            END IF;
            SET v_from = v_last + 1, v_rounds = v_rounds + 1;
        UNTIL NOT v_full OR v_room <= 0 OR v_rounds >= 100 END REPEAT;
        -- They wait from now on. No further than the choice above went.
        IF v_born > 0 THEN
            CALL {take_born}(in_from, IF(v_full, v_last, 9223372036854775807), GREATEST(in_batch, 100), v_count);
        END IF;
    END IF;

    IF v_room > 0 AND (v_born > 0 OR v_due OR v_lined IS NOT NULL) THEN
        CALL {lease_lined}(v_lined, v_room, in_owner, in_lease_id, v_until, out_seqs, v_room);
        -- What was taken back a moment ago is due now, and its new lease begins now: not before the end of the old one.
        SET v_at = UTC_TIMESTAMP(6), v_until = v_at + INTERVAL in_lease_us MICROSECOND;
        CALL {lease_waiting}(0, v_at, v_room, in_owner, in_lease_id, v_until, out_seqs, v_room);
        CALL {lease_waiting}(1, v_at, v_room, in_owner, in_lease_id, v_until, out_seqs, v_room);
    END IF;
END//

-- One claim in a transaction of its own; out_seqs: what it leased, NULL for nothing. While fewer than 1000 numbers are in
-- doubt, or once a second, it looks at all messages from the floor on; every 30 seconds at all there are; otherwise from the
-- mark. A look for which there was no room is not over. Leases are searched for expired ones when the first may be. A time that
-- lies further ahead than it is ever set was set before the clock was put back.
DROP PROCEDURE IF EXISTS {lease_some}//
CREATE PROCEDURE {lease_some}(IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_lease_us BIGINT, IN in_batch BIGINT,
                              IN in_turn BIGINT, OUT out_seqs LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_floor, v_old_floor, v_mark, v_old_mark, v_from, v_count BIGINT;
    DECLARE v_looked BOOLEAN;
    DECLARE v_at, v_look_at, v_full_look_at, v_lease_due, v_old_lease_due DATETIME(6);
    DECLARE v_next_look_at, v_next_full_look_at DATETIME(6) DEFAULT NULL;
    CALL {find_floor}(v_floor);
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            ROLLBACK;
            RESIGNAL;
        END;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
        SELECT g.mark, g.mark, g.floor, g.look_at, g.full_look_at, g.lease_due, g.lease_due
          INTO v_mark, v_old_mark, v_old_floor, v_look_at, v_full_look_at, v_lease_due, v_old_lease_due
          FROM {gate} AS g WHERE g.name = 'claim' FOR UPDATE;
        SET v_at = UTC_TIMESTAMP(6), v_from = v_mark - 100;
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
        CALL {choose}(in_owner, in_lease_id, in_lease_us, in_batch, in_turn, v_from, v_mark, v_looked, out_seqs);
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
DROP PROCEDURE IF EXISTS {do_claim}//
CREATE PROCEDURE {do_claim}(IN in_owner BINARY(16), IN in_lease_id BIGINT, IN in_lease_us BIGINT, IN in_batch BIGINT,
                            IN in_turn BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_seqs LONGTEXT;
    CALL {lease_some}(in_owner, in_lease_id, in_lease_us, in_batch, in_turn, v_seqs);
    IF v_seqs IS NOT NULL THEN
        CALL {do_read}(in_lease_id, v_seqs);
    END IF;
END//
DELIMITER ;
