-- What only the inbox does: receive, see, mark, acknowledge, purge.

DELIMITER //
-- A number for a message that has no place in {live}: numbers come from one source. The row that draws it lives and dies in
-- the caller's transaction.
DROP PROCEDURE IF EXISTS {draw}//
CREATE PROCEDURE {draw}(OUT out_seq BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    INSERT INTO {live} (nonce, source, message_id, topic, payload) VALUES (0, '-', '-', '-', '');
    SET out_seq = LAST_INSERT_ID();
    DELETE FROM {live} WHERE seq = out_seq;
END//

-- Locks the content of a key, whose row the caller has locked, and looks at its lease afterwards: a claim locks what it
-- leases, so it has either finished or passes this message by. The lease itself is not locked, or its holder could not prolong
-- it while the caller's transaction is open; a caller in REPEATABLE READ sees the leases of its snapshot. Content that is known
-- to wait is not looked for in {live}, which in REPEATABLE READ would lock the gap that new messages are written into.
-- out_live: 1 in {live}, 0 in {waiting}, NULL: no content.
DROP PROCEDURE IF EXISTS {lock_content}//
CREATE PROCEDURE {lock_content}(IN in_seq BIGINT, IN in_key_state TINYINT, OUT out_live TINYINT, OUT out_leased TINYINT,
                                OUT out_state TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_count, v_waits BIGINT DEFAULT 0;
    DECLARE v_until DATETIME(6);
    SET out_live = NULL, out_leased = 0, out_state = in_key_state;
    IF in_seq IS NOT NULL THEN
        SELECT COUNT(*) INTO v_waits FROM {waiting} AS m WHERE m.seq = in_seq;
        IF v_waits = 0 THEN
            SELECT COUNT(*) INTO v_count FROM {live} AS m WHERE m.seq = in_seq FOR UPDATE;
        END IF;
        SET out_live = v_count;
        IF v_count = 1 THEN
            SET out_state = 0;
        ELSE
            SELECT COALESCE(MAX(m.state), 0) INTO out_state FROM {waiting} AS m WHERE m.seq = in_seq FOR UPDATE;
        END IF;
        SELECT MAX(l.locked_until) INTO v_until FROM {lease} AS l WHERE l.seq = in_seq;
        SET out_leased = v_until IS NOT NULL;
        IF v_until > UTC_TIMESTAMP(6) THEN
            SET out_state = 1;
        END IF;
    END IF;
END//

-- Stores or refreshes a message; see Store::receive. out_seq NULL: done before. out_previous NULL: never heard of.
DROP PROCEDURE IF EXISTS {take_in}//
CREATE PROCEDURE {take_in}(
    IN in_nonce BIGINT, IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_topic VARBINARY(1024),
    IN in_payload LONGBLOB, IN in_hash VARBINARY(1024), IN in_content_type VARBINARY(1024),
    IN in_headers LONGTEXT CHARACTER SET utf8mb4, IN in_ordering_key VARBINARY(1024), IN in_due_time DATETIME(6),
    IN in_expires_at DATETIME(6), IN in_priority BIGINT, IN in_max_attempts BIGINT, IN in_revive TINYINT,
    OUT out_seq BIGINT, OUT out_nonce BIGINT, OUT out_previous TINYINT, OUT out_mismatch TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
body: BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_available DATETIME(6) DEFAULT COALESCE(in_due_time, v_at);
    DECLARE v_first_seen DATETIME(6);
    DECLARE v_hash VARBINARY(1024);
    DECLARE v_old_key VARBINARY(1024);
    DECLARE v_key_state, v_live, v_leased, v_frees, v_new_state TINYINT DEFAULT 0;
    DECLARE v_retries, v_losses INT DEFAULT 0;
    DECLARE v_reason VARCHAR(64);
    DECLARE v_error MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE v_queued BOOLEAN;
    SET out_previous = NULL, out_mismatch = 0;

    INSERT INTO {key} (source, message_id, state, nonce, first_seen, last_seen, topic, hash)
    VALUES (in_source, in_message_id, 0, in_nonce, v_at, v_at, in_topic, in_hash)
        ON DUPLICATE KEY UPDATE state = state;
    SELECT k.seq, k.nonce, k.state, k.first_seen, k.hash, k.last_error
      INTO out_seq, out_nonce, v_key_state, v_first_seen, v_hash, v_error
      FROM {key} AS k WHERE k.source = in_source AND k.message_id = in_message_id FOR UPDATE;
    SET v_queued = out_seq IS NOT NULL;

    IF v_queued OR NOT out_nonce <=> in_nonce THEN
        CALL {lock_content}(out_seq, v_key_state, v_live, v_leased, out_previous);
        SET out_mismatch = COALESCE(in_hash <> v_hash, 0);
        -- A lease that has run out counts too: its holder may still settle what it was given.
        IF out_previous = 2 OR v_leased THEN
            UPDATE {key} AS k SET k.last_seen = v_at, k.hash = COALESCE(k.hash, in_hash)
             WHERE k.source = in_source AND k.message_id = in_message_id;
            LEAVE body;
        END IF;
        IF out_previous = 3 AND NOT in_revive THEN
            SET v_new_state = 3, v_reason = 'failed';
        ELSE
            SET v_error = NULL;
        END IF;
        UPDATE {key} AS k SET k.last_seen = v_at, k.hash = COALESCE(in_hash, k.hash), k.topic = in_topic, k.state = 0
         WHERE k.source = in_source AND k.message_id = in_message_id;
        IF v_queued THEN
            -- Replaced where it is not held: old content goes, new content comes under the same number.
            SET v_available = GREATEST(v_available, v_at);
            IF v_live = 1 THEN
                DELETE FROM {live} WHERE seq = out_seq;
            ELSE
                SELECT m.retry_count, m.lost_count, m.dead_reason, m.last_error, m.frees_key, m.ordering_key,
                       IF(v_new_state = 3, m.available_at, v_available)
                  INTO v_retries, v_losses, v_reason, v_error, v_frees, v_old_key, v_available
                  FROM {waiting} AS m WHERE m.seq = out_seq FOR UPDATE;
                DELETE FROM {waiting} WHERE seq = out_seq;
                IF v_old_key IS NOT NULL THEN
                    INSERT INTO {turn} (ordering_key) VALUES (v_old_key);
                END IF;
                IF out_previous = 3 AND in_revive THEN
                    SET v_retries = 0, v_losses = 0, v_reason = NULL, v_error = NULL, v_frees = 0;
                END IF;
            END IF;
        END IF;
    END IF;

    IF NOT v_queued THEN
        SET out_nonce = in_nonce;
    END IF;
    IF NOT v_queued AND v_new_state = 0 AND in_priority >= 0 AND COALESCE(in_due_time <= v_at, 1)
       AND in_ordering_key IS NULL THEN
        INSERT INTO {live} (nonce, created_at, due_time, expires_at, priority, max_attempts, message_id, topic, source, hash,
                            content_type, headers, payload)
        VALUES (out_nonce, v_at, in_due_time, in_expires_at, in_priority, in_max_attempts, in_message_id, in_topic, in_source,
                in_hash, in_content_type, in_headers, in_payload);
        SET out_seq = LAST_INSERT_ID();
    ELSE
        IF NOT v_queued THEN
            CALL {draw}(out_seq);
        END IF;
        INSERT INTO {waiting} (
            seq, nonce, created_at, available_at, due_time, expires_at, priority, max_attempts, retry_count, lost_count, state,
            frees_key, message_id, topic, ordering_key, source, hash, content_type, dead_reason, last_error, headers,
            payload)
        VALUES (out_seq, out_nonce, v_first_seen,
                IF(v_new_state = 3, v_available, LEAST(v_available, COALESCE(in_expires_at, v_available))), in_due_time,
                in_expires_at, in_priority, in_max_attempts, v_retries, v_losses, v_new_state,
                v_frees AND in_ordering_key IS NOT NULL, in_message_id, in_topic, in_ordering_key, in_source, in_hash,
                in_content_type, v_reason, v_error, in_headers, in_payload);
    END IF;
    IF NOT v_queued THEN
        UPDATE {key} AS k SET k.seq = out_seq, k.nonce = out_nonce, k.last_error = NULL
         WHERE k.source = in_source AND k.message_id = in_message_id;
    END IF;
END//

DROP PROCEDURE IF EXISTS {do_receive}//
CREATE PROCEDURE {do_receive}(
    IN in_nonce BIGINT, IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_topic VARBINARY(1024),
    IN in_payload LONGBLOB, IN in_hash VARBINARY(1024), IN in_content_type VARBINARY(1024),
    IN in_headers LONGTEXT CHARACTER SET utf8mb4, IN in_ordering_key VARBINARY(1024), IN in_due_time DATETIME(6),
    IN in_expires_at DATETIME(6), IN in_priority BIGINT, IN in_max_attempts BIGINT, IN in_revive TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_seq, v_nonce BIGINT;
    DECLARE v_previous, v_mismatch TINYINT;
    CALL {take_in}(in_nonce, in_source, in_message_id, in_topic, in_payload, in_hash, in_content_type, in_headers,
                   in_ordering_key, in_due_time, in_expires_at, in_priority, in_max_attempts, in_revive, v_seq, v_nonce,
                   v_previous, v_mismatch);
    SELECT v_seq AS seq, v_nonce AS nonce, v_previous AS previous, v_mismatch AS hash_mismatch;
END//

-- Stores messages that nobody has heard of, all at once: contents first, which nobody sees before the commit, then their keys. A
-- key that is taken stays as it is, and the content goes again: out_again tells that there are such. In READ COMMITTED only:
-- reading what it wrote must lock no gaps. Where numbers do not follow each other, nothing is stored at all.
DROP PROCEDURE IF EXISTS {take_in_new}//
CREATE PROCEDURE {take_in_new}(IN in_rows LONGTEXT, IN in_nonces LONGTEXT, OUT out_again BOOLEAN)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_first, v_last, v_count BIGINT;
    DECLARE v_nonces, v_taken LONGTEXT;
    SAVEPOINT postroom_rows;
    INSERT INTO {live} (nonce, created_at, source, message_id, topic, content_type, headers, hash, priority, max_attempts,
                        payload)
    SELECT r.nonce, v_at, FROM_BASE64(r.source), FROM_BASE64(r.message_id), FROM_BASE64(r.topic), FROM_BASE64(r.content_type),
           CONVERT(FROM_BASE64(r.headers) USING utf8mb4), FROM_BASE64(r.hash), r.priority, r.max_attempts,
           FROM_BASE64(r.payload)
      FROM JSON_TABLE(in_rows, '$[*]' COLUMNS (
               nonce BIGINT PATH '$[0]', source VARCHAR(2048) PATH '$[1]', message_id VARCHAR(2048) PATH '$[2]',
               topic VARCHAR(2048) PATH '$[3]', content_type VARCHAR(2048) PATH '$[4]', headers LONGTEXT PATH '$[5]',
               hash VARCHAR(2048) PATH '$[6]', priority INT PATH '$[7]', max_attempts INT PATH '$[8]',
               payload LONGTEXT PATH '$[9]')) AS r;
    SET v_count = ROW_COUNT(), v_first = LAST_INSERT_ID(), v_last = v_first + v_count - 1;
    SELECT GROUP_CONCAT(m.nonce) INTO v_nonces
      FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN v_first AND v_last;
    SET out_again = NOT CONCAT('[', v_nonces, ']') <=> in_nonces;
    IF out_again THEN
        ROLLBACK TO SAVEPOINT postroom_rows;
    ELSE
        INSERT INTO {key} (source, message_id, state, seq, nonce, first_seen, last_seen, topic, hash)
        SELECT m.source, m.message_id, 0, m.seq, m.nonce, v_at, v_at, m.topic, m.hash
          FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN v_first AND v_last
            ON DUPLICATE KEY UPDATE state = state;
        SELECT m.seq, m.nonce, NULL AS previous, 0 AS hash_mismatch, m.nonce AS given
          FROM {live} AS m FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = m.source AND k.message_id = m.message_id
         WHERE m.seq BETWEEN v_first AND v_last AND k.seq = m.seq AND k.nonce = m.nonce;
        SET out_again = FOUND_ROWS() < v_count;
        IF out_again THEN
            SELECT JSON_ARRAYAGG(m.seq) INTO v_taken
              FROM {live} AS m FORCE INDEX (PRIMARY)
              LEFT JOIN {key} AS k FORCE INDEX (PRIMARY)
                ON k.source = m.source AND k.message_id = m.message_id AND k.seq = m.seq AND k.nonce = m.nonce
             WHERE m.seq BETWEEN v_first AND v_last AND k.seq IS NULL;
            DELETE m
              FROM JSON_TABLE(v_taken, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
              STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
        END IF;
    END IF;
END//

-- Many messages for which it is time at once; what has been heard of before is taken in one after the other.
DROP PROCEDURE IF EXISTS {do_receive_many}//
CREATE PROCEDURE {do_receive_many}(IN in_rows LONGTEXT, IN in_nonces LONGTEXT, IN in_revive TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_given, v_seq, v_nonce, v_priority, v_max_attempts BIGINT;
    DECLARE v_previous, v_mismatch TINYINT;
    DECLARE v_source, v_message_id, v_topic, v_content_type, v_hash VARBINARY(1024);
    DECLARE v_headers LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_payload LONGBLOB;
    DECLARE v_own, v_end BOOLEAN DEFAULT FALSE;
    DECLARE v_again BOOLEAN DEFAULT TRUE;
    DECLARE v_items CURSOR FOR
        SELECT d.nonce, d.source, d.message_id, d.topic, d.content_type, CONVERT(FROM_BASE64(d.headers) USING utf8mb4),
               FROM_BASE64(d.hash), d.priority, d.max_attempts, FROM_BASE64(d.payload)
          FROM (SELECT r.nonce, FROM_BASE64(r.source) AS source, FROM_BASE64(r.message_id) AS message_id,
                       FROM_BASE64(r.topic) AS topic, FROM_BASE64(r.content_type) AS content_type, r.headers, r.hash,
                       r.priority, r.max_attempts, r.payload
                  FROM JSON_TABLE(in_rows, '$[*]' COLUMNS (
                           nonce BIGINT PATH '$[0]', source VARCHAR(2048) PATH '$[1]', message_id VARCHAR(2048) PATH '$[2]',
                           topic VARCHAR(2048) PATH '$[3]', content_type VARCHAR(2048) PATH '$[4]',
                           headers LONGTEXT PATH '$[5]', hash VARCHAR(2048) PATH '$[6]', priority INT PATH '$[7]',
                           max_attempts INT PATH '$[8]', payload LONGTEXT PATH '$[9]')) AS r) AS d
         WHERE NOT (SELECT k.nonce FROM {key} AS k WHERE k.source = d.source AND k.message_id = d.message_id) <=> d.nonce;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {begin_own}(v_own);
    IF v_own THEN
        CALL {take_in_new}(in_rows, in_nonces, v_again);
    END IF;
    IF v_again THEN
        SET v_end = FALSE;
        OPEN v_items;
        items: LOOP
            FETCH v_items INTO v_given, v_source, v_message_id, v_topic, v_content_type, v_headers, v_hash, v_priority,
                               v_max_attempts, v_payload;
            IF v_end THEN
                LEAVE items;
            END IF;
            CALL {take_in}(v_given, v_source, v_message_id, v_topic, v_payload, v_hash, v_content_type, v_headers, NULL, NULL,
                           NULL, v_priority, v_max_attempts, in_revive, v_seq, v_nonce, v_previous, v_mismatch);
            SELECT v_seq AS seq, v_nonce AS nonce, v_previous AS previous, v_mismatch AS hash_mismatch, v_given AS given;
            SET v_end = FALSE;
        END LOOP;
        CLOSE v_items;
    END IF;
    IF v_own THEN
        COMMIT;
    END IF;
END//

-- Notes that a message was seen; out_previous NULL: never heard of.
DROP PROCEDURE IF EXISTS {notice}//
CREATE PROCEDURE {notice}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_hash VARBINARY(1024),
                          OUT out_previous TINYINT, OUT out_mismatch TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_token BIGINT DEFAULT CAST(UUID_SHORT() AS SIGNED);
    DECLARE v_seq, v_nonce BIGINT;
    DECLARE v_hash VARBINARY(1024);
    DECLARE v_key_state, v_live, v_leased TINYINT;
    INSERT INTO {key} (source, message_id, state, nonce, first_seen, last_seen, hash)
    VALUES (in_source, in_message_id, 4, v_token, v_at, v_at, in_hash)
        ON DUPLICATE KEY UPDATE last_seen = v_at;
    SELECT k.seq, k.nonce, k.state, k.hash INTO v_seq, v_nonce, v_key_state, v_hash
      FROM {key} AS k WHERE k.source = in_source AND k.message_id = in_message_id FOR UPDATE;
    SET out_previous = NULL, out_mismatch = 0;
    IF NOT v_nonce <=> v_token THEN
        CALL {lock_content}(v_seq, v_key_state, v_live, v_leased, out_previous);
        SET out_mismatch = COALESCE(in_hash <> v_hash, 0);
        IF v_hash IS NULL AND in_hash IS NOT NULL THEN
            UPDATE {key} SET hash = in_hash WHERE source = in_source AND message_id = in_message_id;
        END IF;
    END IF;
END//

DROP PROCEDURE IF EXISTS {do_see}//
CREATE PROCEDURE {do_see}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_hash VARBINARY(1024))
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_previous, v_mismatch TINYINT;
    CALL {notice}(in_source, in_message_id, in_hash, v_previous, v_mismatch);
    SELECT v_previous AS previous, v_mismatch AS hash_mismatch;
END//

-- Puts the message into in_state whatever it was but done, and drops a lease. out_previous NULL: no such message.
DROP PROCEDURE IF EXISTS {put_mark}//
CREATE PROCEDURE {put_mark}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_state TINYINT,
                            IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, OUT out_previous TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
body: BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_found, v_seq BIGINT;
    DECLARE v_key_state, v_live, v_leased TINYINT;
    SET out_previous = NULL;
    SELECT COUNT(*), MAX(k.seq), MAX(k.state) INTO v_found, v_seq, v_key_state
      FROM {key} AS k WHERE k.source = in_source AND k.message_id = in_message_id FOR UPDATE;
    IF v_found = 0 THEN
        LEAVE body;
    END IF;
    CALL {lock_content}(v_seq, v_key_state, v_live, v_leased, out_previous);
    IF out_previous = 2 THEN
        LEAVE body;
    END IF;
    IF in_state = 2 THEN
        IF v_live = 0 THEN
            INSERT INTO {turn} (ordering_key)
            SELECT m.ordering_key FROM {waiting} AS m WHERE m.seq = v_seq AND m.ordering_key IS NOT NULL;
            DELETE FROM {waiting} WHERE seq = v_seq;
        ELSEIF v_live = 1 THEN
            DELETE FROM {live} WHERE seq = v_seq;
        END IF;
        UPDATE {key} AS k SET k.state = 2, k.seq = NULL, k.nonce = NULL, k.processed_at = v_at, k.last_error = NULL
         WHERE k.source = in_source AND k.message_id = in_message_id;
    ELSEIF v_seq IS NULL THEN
        UPDATE {key} AS k SET k.state = in_state, k.last_error = IF(in_state = 3, in_error, k.last_error)
         WHERE k.source = in_source AND k.message_id = in_message_id;
    ELSEIF in_state = 3 THEN
        IF v_live = 1 THEN
            CALL {park}(JSON_ARRAY(v_seq), NULL, 3, 'failed', 0, 0, in_error);
        ELSE
            UPDATE {waiting} AS m
               SET m.state = 3, m.dead_reason = 'failed', m.last_error = COALESCE(in_error, m.last_error)
             WHERE m.seq = v_seq;
        END IF;
    ELSEIF v_live = 0 THEN
        UPDATE {waiting} AS m
           SET m.state = 0, m.available_at = v_at, m.dead_reason = NULL, m.behind = 0, m.frees_key = 0
         WHERE m.seq = v_seq;
    ELSEIF v_leased THEN
        -- Live content that nobody held is claimable where it is.
        CALL {park}(JSON_ARRAY(v_seq), v_at, 0, NULL, 0, 0, NULL);
    END IF;
    IF v_leased THEN
        DELETE FROM {lease} WHERE seq = v_seq;
    END IF;
END//

DROP PROCEDURE IF EXISTS {do_mark}//
CREATE PROCEDURE {do_mark}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_state TINYINT,
                           IN in_error MEDIUMTEXT CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_previous TINYINT;
    CALL {put_mark}(in_source, in_message_id, in_state, in_error, v_previous);
    IF v_previous IS NOT NULL THEN
        SELECT v_previous AS previous;
    END IF;
END//

-- A message that arrives again changes its content: a claim locks what it leases, and passes by what is being changed.
DROP PROCEDURE IF EXISTS {lock_fresh}//
CREATE PROCEDURE {lock_fresh}(INOUT io_seqs LONGTEXT)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    IF io_seqs IS NOT NULL THEN
        SELECT JSON_ARRAYAGG(d.seq) INTO io_seqs
          FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(io_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS j) AS s
                STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq FOR UPDATE SKIP LOCKED) AS d;
    END IF;
END//

-- Locks the keys of messages that are about to be acknowledged, before the messages and in one order for everybody. Reads
-- the messages without a lock: source and message id of a number never change.
DROP PROCEDURE IF EXISTS {lock_keys}//
CREATE PROCEDURE {lock_keys}(IN in_seqs LONGTEXT)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_count BIGINT;
    SELECT COUNT(*) INTO v_count
      FROM (SELECT m.source, m.message_id
              FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
              STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             UNION
            SELECT m.source, m.message_id
              FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
              STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             ORDER BY source, message_id LIMIT 1000000) AS d
      STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = d.source AND k.message_id = d.message_id
       FOR UPDATE;
END//

-- Acknowledged messages are done; their content goes, and nothing is kept of it.
DROP PROCEDURE IF EXISTS {finish}//
CREATE PROCEDURE {finish}(IN in_live LONGTEXT, IN in_waiting LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii
        DEFAULT LOWER(CONCAT_WS('-', SUBSTR(HEX(in_owner), 1, 8), SUBSTR(HEX(in_owner), 9, 4), SUBSTR(HEX(in_owner), 13, 4),
                                SUBSTR(HEX(in_owner), 17, 4), SUBSTR(HEX(in_owner), 21)));
    IF in_live IS NOT NULL THEN
        UPDATE JSON_TABLE(in_live, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
        STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
        STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = m.source AND k.message_id = m.message_id
           SET k.state = 2, k.seq = NULL, k.nonce = NULL, k.processed_at = v_at, k.processed_by = v_owner,
               k.last_error = NULL;
    END IF;
    IF in_waiting IS NOT NULL THEN
        UPDATE JSON_TABLE(in_waiting, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
        STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
        STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = m.source AND k.message_id = m.message_id
           SET k.state = 2, k.seq = NULL, k.nonce = NULL, k.processed_at = v_at, k.processed_by = v_owner,
               k.last_error = NULL;
    END IF;
END//

-- The same for the fresh messages from in_first to in_last, whose keys it locks before anything else. An UPDATE of a join
-- writes every row into a temporary table first; running into the key does not, but locks the gap below it, which is for
-- short transactions only.
DROP PROCEDURE IF EXISTS {finish_run}//
CREATE PROCEDURE {finish_run}(IN in_first BIGINT, IN in_last BIGINT, IN in_owner BINARY(16), IN in_keep TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii
        DEFAULT LOWER(CONCAT_WS('-', SUBSTR(HEX(in_owner), 1, 8), SUBSTR(HEX(in_owner), 9, 4), SUBSTR(HEX(in_owner), 13, 4),
                                SUBSTR(HEX(in_owner), 17, 4), SUBSTR(HEX(in_owner), 21)));
    INSERT INTO {key} (source, message_id, state, first_seen, last_seen, processed_at, processed_by)
    SELECT m.source, m.message_id, 2, m.created_at, m.created_at, v_at, v_owner
      FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN in_first AND in_last
     ORDER BY m.source, m.message_id
        ON DUPLICATE KEY UPDATE state = 2, seq = NULL, nonce = NULL, processed_at = v_at, processed_by = v_owner,
                                last_error = NULL;
END//

-- Forgets up to in_batch messages that are done. One that somebody has locked is passed by: whoever sees a message again keeps
-- its row locked until its transaction ends.
DROP PROCEDURE IF EXISTS {purge_keys}//
CREATE PROCEDURE {purge_keys}(IN in_before DATETIME(6), IN in_batch BIGINT, OUT out_count BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_keys LONGTEXT;
    DECLARE v_share BIGINT DEFAULT LEAST(in_batch, 1000);  -- whose keys, at their widest, an aggregate can hold
    DECLARE v_chosen, v_passed, v_gone BIGINT DEFAULT 0;
    DECLARE v_full BOOLEAN;
    SET out_count = 0;
    REPEAT
        SELECT JSON_ARRAYAGG(JSON_ARRAY(HEX(d.source), HEX(d.message_id))), COUNT(*) INTO v_keys, v_chosen
          FROM (SELECT k.source, k.message_id FROM {key} AS k FORCE INDEX (`{queue}_key_by_state`)
                 WHERE k.state = 2 AND k.last_seen <= in_before ORDER BY k.last_seen LIMIT v_passed, v_share) AS d;
        IF v_chosen > 0 THEN
            SELECT JSON_ARRAYAGG(JSON_ARRAY(HEX(d.source), HEX(d.message_id))), COUNT(*) INTO v_keys, v_gone
              FROM (SELECT k.source, k.message_id
                      FROM (SELECT UNHEX(j.a) AS a, UNHEX(j.b) AS b
                              FROM JSON_TABLE(v_keys, '$[*]' COLUMNS (a VARCHAR(2048) PATH '$[0]',
                                                                      b VARCHAR(2048) PATH '$[1]')) AS j) AS s
                      STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = s.a AND k.message_id = s.b
                     WHERE k.state = 2 AND k.last_seen <= in_before FOR UPDATE SKIP LOCKED) AS d;
            IF v_gone > 0 THEN
                DELETE k
                  FROM (SELECT UNHEX(j.a) AS a, UNHEX(j.b) AS b
                          FROM JSON_TABLE(v_keys, '$[*]' COLUMNS (a VARCHAR(2048) PATH '$[0]',
                                                                  b VARCHAR(2048) PATH '$[1]')) AS j) AS s
                  STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = s.a AND k.message_id = s.b;
            END IF;
            SET out_count = out_count + v_gone, v_passed = v_passed + v_chosen - v_gone;
        END IF;
        SET v_full = v_chosen = v_share, v_share = LEAST(in_batch - out_count, 1000);
    UNTIL NOT v_full OR v_share <= 0 END REPEAT;
END//

DROP PROCEDURE IF EXISTS {do_purge}//
CREATE PROCEDURE {do_purge}(IN in_older_us BIGINT, IN in_window_us BIGINT, IN in_batch BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_mine, v_gone BIGINT DEFAULT 0;
    SELECT COUNT(*) INTO v_mine
      FROM (SELECT g.name FROM {gate} AS g WHERE g.name = 'purge' FOR UPDATE SKIP LOCKED) AS d;
    IF v_mine = 0 THEN
        SELECT 0 AS purged, 1 AS busy;
    ELSE
        CALL {purge_keys}(v_at - INTERVAL in_older_us MICROSECOND, in_batch, v_gone);
        SELECT v_gone AS purged, 0 AS busy;
    END IF;
END//
DELIMITER ;
