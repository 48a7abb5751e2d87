-- Settling what a lease holds, and what operators do with dead messages. Each verb acts only where the lease stands: a lease row
-- with that id, or a message born with it that nobody has taken over. An expired lease that nobody took back yet still
-- stands. Decisions rest on locking reads, which see the latest commits also where the caller's transaction is REPEATABLE READ.
-- There a locking read that finds nothing locks the gap, in {live} the one into which everybody writes. So a message is looked
-- for in {live} unless it is known to be in {waiting}: from there it never goes back.

DELIMITER //
-- Begins a transaction unless there is one; out_own: whether it did. The isolation level of the next transaction can be set
-- only outside of one, which is how a procedure learns where it is. Without autocommit the caller is always inside.
DROP PROCEDURE IF EXISTS {begin_own}//
CREATE PROCEDURE {begin_own}(OUT out_own BOOLEAN)
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
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

-- The message that in_lease_id holds: locks it and drops the lease. out_live: 1 when it is in {live}, 0 when it is in
-- {waiting}, NULL when the lease is lost.
DROP PROCEDURE IF EXISTS {take_lease}//
CREATE PROCEDURE {take_lease}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT, OUT out_live TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_live, v_waiting BIGINT DEFAULT 0;
    DECLARE v_lease, v_born BIGINT;
    SELECT COUNT(*) INTO v_waiting FROM {waiting} AS m WHERE m.seq = in_seq;
    IF v_waiting = 0 THEN
        SELECT COUNT(*), MAX(m.lease_id) INTO v_live, v_born
          FROM {live} AS m WHERE m.seq = in_seq AND m.nonce = in_nonce FOR UPDATE;
    END IF;
    IF v_live = 0 THEN
        SELECT COUNT(*) INTO v_waiting FROM {waiting} AS m WHERE m.seq = in_seq AND m.nonce = in_nonce FOR UPDATE;
    END IF;
    SET out_live = NULL;
    IF v_live + v_waiting > 0 THEN
        SELECT MAX(l.lease_id) INTO v_lease FROM {lease} AS l WHERE l.seq = in_seq FOR UPDATE;
        IF v_lease = in_lease_id THEN
            DELETE FROM {lease} WHERE seq = in_seq;
            SET out_live = v_live;
        ELSEIF v_lease IS NULL AND v_born = in_lease_id THEN
            SET out_live = 1;
        END IF;
    END IF;
END//

-- out_state: NULL when the lease is lost.
DROP PROCEDURE IF EXISTS {release}//
CREATE PROCEDURE {release}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT, IN in_error MEDIUMTEXT CHARACTER SET utf8mb4,
                           IN in_delay_us BIGINT, IN in_count_attempt BIGINT, IN in_max_attempts BIGINT,
                           IN in_frees_key TINYINT, OUT out_state TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_live TINYINT;
    DECLARE v_retries, v_max BIGINT;
    DECLARE v_available, v_expires DATETIME(6);
    DECLARE v_dead BOOLEAN;
    SET out_state = NULL;
    CALL {take_lease}(in_seq, in_nonce, in_lease_id, v_live);
    IF v_live IS NOT NULL THEN
        IF v_live = 1 THEN
            SELECT COALESCE(m.max_attempts, in_max_attempts), m.expires_at, 0 INTO v_max, v_expires, v_retries
              FROM {live} AS m WHERE m.seq = in_seq FOR UPDATE;
        ELSE
            SELECT COALESCE(m.max_attempts, in_max_attempts), m.expires_at, m.retry_count
              INTO v_max, v_expires, v_retries
              FROM {waiting} AS m WHERE m.seq = in_seq FOR UPDATE;
        END IF;
        SET v_retries = v_retries + in_count_attempt;
        SET v_dead = in_count_attempt > 0 AND v_max > 0 AND v_retries >= v_max;
        -- An expired message is not kept waiting for its next attempt.
        SET v_available = UTC_TIMESTAMP(6) + INTERVAL in_delay_us MICROSECOND;
        SET v_available = LEAST(v_available, COALESCE(v_expires, v_available));
        SET out_state = IF(v_dead, 3, 0);
        IF v_live = 1 THEN
            CALL {park}(JSON_ARRAY(in_seq), IF(v_dead, NULL, v_available), out_state, IF(v_dead, 'max_attempts', NULL),
                        v_retries, 0, in_error);
        ELSE
            UPDATE {waiting} AS m
               SET m.available_at = IF(v_dead, m.available_at, v_available), m.state = out_state,
                   m.dead_reason = IF(v_dead, 'max_attempts', NULL), m.retry_count = v_retries,
                   m.frees_key = v_dead AND in_frees_key <> 0 AND m.ordering_key IS NOT NULL,
                   m.last_error = COALESCE(in_error, m.last_error)
             WHERE m.seq = in_seq;
            IF v_dead THEN
                CALL {note_freed}(in_seq);
            END IF;
        END IF;
    END IF;
END//

-- A note for the ordering key that a dead message does not hold back any more.
DROP PROCEDURE IF EXISTS {note_freed}//
CREATE PROCEDURE {note_freed}(IN in_seq BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    INSERT INTO {turn} (ordering_key)
    SELECT m.ordering_key FROM {waiting} AS m WHERE m.seq = in_seq AND m.frees_key = 1;
END//

-- out_done: 1, or 0 when the lease is lost.
DROP PROCEDURE IF EXISTS {kill_one}//
CREATE PROCEDURE {kill_one}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT, IN in_error MEDIUMTEXT CHARACTER SET utf8mb4,
                            IN in_reason VARCHAR(64), IN in_frees_key TINYINT, OUT out_done TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_live TINYINT;
    CALL {take_lease}(in_seq, in_nonce, in_lease_id, v_live);
    SET out_done = v_live IS NOT NULL;
    IF v_live = 1 THEN
        CALL {park}(JSON_ARRAY(in_seq), NULL, 3, in_reason, 0, 0, in_error);
    ELSEIF v_live = 0 THEN
        UPDATE {waiting} AS m
           SET m.state = 3, m.dead_reason = in_reason, m.last_error = COALESCE(in_error, m.last_error),
               m.frees_key = in_frees_key <> 0 AND m.ordering_key IS NOT NULL
         WHERE m.seq = in_seq;
        CALL {note_freed}(in_seq);
    END IF;
END//

-- Removes the messages that the lease holds; out_seqs: which, NULL for none. {lock_keys} and {finish} are the queue's own.
DROP PROCEDURE IF EXISTS {acknowledge}//
CREATE PROCEDURE {acknowledge}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                               IN in_keep TINYINT, OUT out_seqs LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_live, v_waiting LONGTEXT;
    CALL {lock_keys}(in_seqs);
    SELECT JSON_ARRAYAGG(m.seq) INTO v_live
      FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j
             WHERE (SELECT w.seq FROM {waiting} AS w WHERE w.seq = j.seq) IS NULL) AS s
      STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
      LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
     WHERE m.nonce IN (SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n)
       AND COALESCE(l.lease_id, m.lease_id) = in_lease_id
       FOR UPDATE;
    IF COALESCE(JSON_LENGTH(v_live), 0) < JSON_LENGTH(in_seqs) THEN
        SELECT JSON_ARRAYAGG(m.seq) INTO v_waiting
          FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
         WHERE m.nonce IN (SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n)
           AND l.lease_id = in_lease_id
           FOR UPDATE;
    END IF;
    CALL {remove}(v_live, v_waiting, in_owner, in_keep, out_seqs);
END//

-- The same for messages of several leases; in_rows: [seq, nonce, lease_id] of each, no message twice.
DROP PROCEDURE IF EXISTS {acknowledge_rows}//
CREATE PROCEDURE {acknowledge_rows}(IN in_rows LONGTEXT, IN in_seqs LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT,
                                    OUT out_seqs LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_live, v_waiting LONGTEXT;
    CALL {lock_keys}(in_seqs);
    SELECT JSON_ARRAYAGG(m.seq) INTO v_live
      FROM (SELECT j.seq, j.nonce, j.lease_id
              FROM JSON_TABLE(in_rows, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]',
                                                       lease_id BIGINT PATH '$[2]')) AS j
             WHERE (SELECT w.seq FROM {waiting} AS w WHERE w.seq = j.seq) IS NULL) AS s
      STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
      LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq
     WHERE m.nonce = s.nonce AND COALESCE(l.lease_id, m.lease_id) = s.lease_id
       FOR UPDATE;
    IF COALESCE(JSON_LENGTH(v_live), 0) < JSON_LENGTH(in_seqs) THEN
        SELECT JSON_ARRAYAGG(m.seq) INTO v_waiting
          FROM (SELECT j.seq, j.nonce, j.lease_id
                  FROM JSON_TABLE(in_rows, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]',
                                                           lease_id BIGINT PATH '$[2]')) AS j) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
         WHERE m.nonce = s.nonce AND l.lease_id = s.lease_id
           FOR UPDATE;
    END IF;
    CALL {remove}(v_live, v_waiting, in_owner, in_keep, out_seqs);
END//

-- Removes messages that the caller holds and has locked, fresh ones and those that waited; out_seqs: all of them.
DROP PROCEDURE IF EXISTS {remove}//
CREATE PROCEDURE {remove}(IN in_live LONGTEXT, IN in_waiting LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT,
                          OUT out_seqs LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    IF in_live IS NOT NULL OR in_waiting IS NOT NULL THEN
        CALL {finish}(in_live, in_waiting, in_owner, in_keep);
    END IF;
    IF in_live IS NOT NULL THEN
        DELETE m, l
          FROM JSON_TABLE(in_live, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq;
    END IF;
    IF in_waiting IS NOT NULL THEN
        INSERT INTO {turn} (ordering_key)
        SELECT m.ordering_key
          FROM JSON_TABLE(in_waiting, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
         WHERE m.ordering_key IS NOT NULL;
        DELETE k
          FROM JSON_TABLE(in_waiting, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          STRAIGHT_JOIN {key_lease} AS k FORCE INDEX (PRIMARY) ON k.ordering_key = m.ordering_key
         WHERE k.seq = m.seq;
        DELETE m, l
          FROM JSON_TABLE(in_waiting, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
          LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = m.seq;
    END IF;
    SET out_seqs = IF(in_live IS NULL OR in_waiting IS NULL, COALESCE(in_live, in_waiting),
                      JSON_MERGE_PRESERVE(in_live, in_waiting));
END//

-- Removes fresh messages that come in a few runs without gaps between their numbers, as claims mostly lease them and writers
-- mostly write them: a range of each table instead of one row after the other. Numbers, nonces and lease ids are in the order
-- of the numbers. out_all: whether it did; if not, nothing has changed, and nothing is known. Only in a transaction of its own:
-- that is READ COMMITTED, which locks no gaps, and short, so that locks of a try that failed do not last. A LIMIT ends each
-- walk at its last row, or it would wait for whoever has the next one locked. Whoever gives or ends a lease has the message locked, so leases are looked at once the messages are
-- ours; nonces never change.
DROP PROCEDURE IF EXISTS {acknowledge_runs}//
CREATE PROCEDURE {acknowledge_runs}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_leases LONGTEXT, IN in_owner BINARY(16),
                                    IN in_keep TINYINT, OUT out_all BOOLEAN)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_total BIGINT DEFAULT LENGTH(in_seqs) - LENGTH(REPLACE(in_seqs, ',', '')) + 1;
    DECLARE v_runs, v_run VARCHAR(1024) CHARACTER SET ascii DEFAULT '';  -- first:count,first:count
    DECLARE v_next, v_run_count, v_first, v_last, v_count, v_leased BIGINT DEFAULT 0;
    DECLARE v_nonces, v_leases, v_found, v_born, v_held LONGTEXT;
    IF LENGTH(in_seqs) > 2 THEN
        SET v_first = CAST(SUBSTRING_INDEX(SUBSTR(in_seqs, 2, LENGTH(in_seqs) - 2), ',', 1) AS SIGNED);
    END IF;
    IF v_total = 1 OR SUBSTRING_INDEX(in_seqs, ',', -1) = CONCAT(v_first + v_total - 1, ']') THEN
        SET v_runs = CONCAT(v_first, ':', v_total), v_run_count = 1;
    ELSE
        SELECT LEFT(GROUP_CONCAT(d.first, ':', d.count ORDER BY d.first), 1024), COUNT(*) INTO v_runs, v_run_count
          FROM (SELECT MIN(s.seq) AS first, COUNT(*) AS count
                  FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (place FOR ORDINALITY, seq BIGINT PATH '$')) AS s
                 GROUP BY s.seq - CAST(s.place AS SIGNED)) AS d;
    END IF;
    SET out_all = v_run_count BETWEEN 1 AND LEAST(16, GREATEST(1, v_total DIV 4));
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

-- The verbs as the library calls them: what changed comes back as rows. An acknowledgement outside of any transaction is one by
-- itself.
DROP PROCEDURE IF EXISTS {do_ack}//
CREATE PROCEDURE {do_ack}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                          IN in_keep TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_acked LONGTEXT;
    DECLARE v_own, v_all BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
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
    IF v_own THEN
        COMMIT;
    END IF;
    IF v_acked IS NOT NULL THEN
        SELECT s.seq FROM JSON_TABLE(v_acked, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s;
    END IF;
END//

-- As {acknowledge_rows}.
DROP PROCEDURE IF EXISTS {do_ack_rows}//
CREATE PROCEDURE {do_ack_rows}(IN in_rows LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_seqs, v_nonces, v_leases, v_acked LONGTEXT;
    DECLARE v_own, v_all BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    -- MySQL puts blanks between the numbers.
    SELECT REPLACE(JSON_ARRAYAGG(j.seq), ' ', ''), REPLACE(JSON_ARRAYAGG(j.nonce), ' ', ''),
           REPLACE(JSON_ARRAYAGG(j.lease_id), ' ', '')
      INTO v_seqs, v_nonces, v_leases
      FROM JSON_TABLE(in_rows, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]',
                                               lease_id BIGINT PATH '$[2]')) AS j;
    CALL {begin_own}(v_own);
    IF v_own THEN
        CALL {acknowledge_runs}(v_seqs, v_nonces, v_leases, in_owner, in_keep, v_all);
    END IF;
    IF v_all THEN
        SET v_acked = v_seqs;
    ELSE
        CALL {acknowledge_rows}(in_rows, v_seqs, in_owner, in_keep, v_acked);
    END IF;
    IF v_own THEN
        COMMIT;
    END IF;
    IF v_acked IS NOT NULL THEN
        SELECT s.seq FROM JSON_TABLE(v_acked, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s;
    END IF;
END//

DROP PROCEDURE IF EXISTS {do_retry}//
CREATE PROCEDURE {do_retry}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT, IN in_error MEDIUMTEXT CHARACTER SET utf8mb4,
                            IN in_delay_us BIGINT, IN in_count_attempt BIGINT, IN in_max_attempts BIGINT,
                            IN in_frees_key TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_state TINYINT;
    CALL {release}(in_seq, in_nonce, in_lease_id, in_error, in_delay_us, in_count_attempt, in_max_attempts, in_frees_key,
                   v_state);
    IF v_state IS NOT NULL THEN
        SELECT in_seq AS seq, v_state AS state;
    END IF;
END//

DROP PROCEDURE IF EXISTS {do_fail}//
CREATE PROCEDURE {do_fail}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT, IN in_error MEDIUMTEXT CHARACTER SET utf8mb4,
                           IN in_reason VARCHAR(64), IN in_frees_key TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_done TINYINT;
    CALL {kill_one}(in_seq, in_nonce, in_lease_id, in_error, in_reason, in_frees_key, v_done);
    IF v_done THEN
        SELECT in_seq AS seq;
    END IF;
END//

-- Prolongs; a message born leased gets an ordinary lease. Nobody waits for a lease that is being settled at this moment: one
-- open transaction must not keep the others from being prolonged. It stands for as long as it has time left.
DROP PROCEDURE IF EXISTS {do_extend}//
CREATE PROCEDURE {do_extend}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                             IN in_lease_us BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_until DATETIME(6) DEFAULT UTC_TIMESTAMP(6) + INTERVAL in_lease_us MICROSECOND;
    DECLARE v_latest DATETIME(6);
    DECLARE v_held, v_free, v_born, v_busy, v_stand LONGTEXT;
    SELECT JSON_ARRAYAGG(l.seq) INTO v_held
      FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
      STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
      LEFT JOIN {live} AS v FORCE INDEX (PRIMARY) ON v.seq = s.seq
      LEFT JOIN {waiting} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
     WHERE l.lease_id = in_lease_id
       AND COALESCE(v.nonce, w.nonce)
           IN (SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n);
    IF v_held IS NOT NULL THEN
        SELECT JSON_ARRAYAGG(d.seq), MAX(d.locked_until) INTO v_free, v_latest
          FROM (SELECT l.seq, l.locked_until
                  FROM (SELECT j.seq FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
                STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
                 WHERE l.lease_id = in_lease_id FOR UPDATE SKIP LOCKED) AS d;
        IF v_free IS NOT NULL THEN
            UPDATE JSON_TABLE(v_free, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
            STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq SET l.locked_until = v_until;
        END IF;
    END IF;
    IF COALESCE(JSON_LENGTH(v_held), 0) < JSON_LENGTH(in_seqs) THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO v_born
          FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
                STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
                 WHERE m.lease_id = in_lease_id
                   AND m.nonce IN (SELECT n.nonce
                                     FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n)
                   AND (SELECT l.seq FROM {lease} AS l WHERE l.seq = m.seq) IS NULL
                 FOR UPDATE SKIP LOCKED) AS d;
        IF v_born IS NOT NULL THEN
            INSERT INTO {lease} (seq, lease_id, locked_until, owner)
            SELECT s.seq, in_lease_id, v_until, in_owner
              FROM JSON_TABLE(v_born, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
                ON DUPLICATE KEY UPDATE locked_until = locked_until;
        END IF;
    END IF;
    -- Claims have worked out from the leases they saw when to look for the first that has run out. Only what runs out sooner
    -- than they know has to be told to them.
    IF v_born IS NOT NULL OR v_latest > v_until THEN
        UPDATE {gate} AS g SET g.lease_due = v_until WHERE g.name = 'claim' AND g.lease_due > v_until;
    END IF;
    -- What was prolonged stands, even if it is so short that it is over by now.
    SET v_stand = JSON_MERGE_PRESERVE(COALESCE(v_free, '[]'), COALESCE(v_born, '[]'));
    IF JSON_LENGTH(v_stand) < JSON_LENGTH(in_seqs) THEN
        SELECT JSON_ARRAYAGG(s.seq) INTO v_busy
          FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
          LEFT JOIN {live} AS v FORCE INDEX (PRIMARY) ON v.seq = s.seq
          LEFT JOIN {waiting} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
         WHERE COALESCE(l.lease_id, v.lease_id) = in_lease_id AND COALESCE(l.locked_until, v.born_until) > UTC_TIMESTAMP(6)
           AND COALESCE(v.nonce, w.nonce)
               IN (SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n);
        SET v_stand = JSON_MERGE_PRESERVE(v_stand, COALESCE(v_busy, '[]'));
    END IF;
    SELECT DISTINCT s.seq FROM JSON_TABLE(v_stand, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s;
END//

-- Leases messages, dead or ready, of which nobody holds a lease that stands, in a transaction of its own: an open one would keep
-- the claims waiting at {gate}. A message that somebody has locked is passed by.
DROP PROCEDURE IF EXISTS {do_hold}//
CREATE PROCEDURE {do_hold}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                           IN in_lease_us BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6);
    DECLARE v_live, v_waiting, v_free, v_over LONGTEXT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    DO (SELECT g.mark FROM {gate} AS g WHERE g.name = 'claim' FOR UPDATE);
    SET v_at = UTC_TIMESTAMP(6);
    SELECT JSON_ARRAYAGG(d.seq) INTO v_live
      FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
            STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             WHERE m.nonce IN (SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n)
               AND COALESCE(m.born_until <= v_at, TRUE)
               FOR UPDATE SKIP LOCKED) AS d;
    SELECT JSON_ARRAYAGG(d.seq) INTO v_waiting
      FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
            STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             WHERE m.nonce IN (SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n)
               FOR UPDATE SKIP LOCKED) AS d;
    SET v_free = JSON_MERGE_PRESERVE(COALESCE(v_live, '[]'), COALESCE(v_waiting, '[]'));
    SELECT JSON_ARRAYAGG(d.seq) INTO v_over
      FROM (SELECT l.seq FROM (SELECT j.seq FROM JSON_TABLE(v_free, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
            STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
             WHERE l.locked_until <= v_at FOR UPDATE SKIP LOCKED) AS d;
    IF v_over IS NOT NULL THEN
        DELETE l
          FROM JSON_TABLE(v_over, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq;
    END IF;
    INSERT INTO {lease} (seq, lease_id, locked_until, owner)
    SELECT s.seq, in_lease_id, v_at + INTERVAL in_lease_us MICROSECOND, in_owner
      FROM JSON_TABLE(v_free, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
     WHERE (SELECT l.seq FROM {lease} AS l WHERE l.seq = s.seq) IS NULL;
    UPDATE {gate} AS g SET g.lease_due = v_at + INTERVAL in_lease_us MICROSECOND
     WHERE g.name = 'claim' AND g.lease_due > v_at + INTERVAL in_lease_us MICROSECOND;
    COMMIT;
    SELECT s.seq
      FROM JSON_TABLE(v_free, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
      STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
     WHERE l.lease_id = in_lease_id;
END//

DROP PROCEDURE IF EXISTS {do_redrive}//
CREATE PROCEDURE {do_redrive}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_dead LONGTEXT;
    SELECT JSON_ARRAYAGG(m.seq) INTO v_dead
      FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
      STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
     WHERE m.nonce IN (SELECT n.nonce FROM JSON_TABLE(in_nonces, '$[*]' COLUMNS (nonce BIGINT PATH '$')) AS n)
       AND m.state = 3
       FOR UPDATE;
    IF v_dead IS NOT NULL THEN
        UPDATE JSON_TABLE(v_dead, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
        STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
           SET m.state = 0, m.available_at = UTC_TIMESTAMP(6), m.retry_count = 0, m.lost_count = 0, m.dead_reason = NULL,
               m.last_error = NULL, m.behind = 0, m.frees_key = 0;
    END IF;
    SELECT COALESCE(JSON_LENGTH(v_dead), 0) AS redriven;
END//
DELIMITER ;
