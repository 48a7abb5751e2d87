-- The procedures for any language: claim, read, ack, abandon, fail, reap. They refuse what the library refuses, with the same
-- words and SQLSTATE 22023. Ids are work-item ids; lists of them are JSON arrays. Ids that are not ours are ignored, an
-- empty list changes nothing, a NULL one is refused. Each verb takes part in the caller's transaction; where there is none it
-- has one of its own.

DELIMITER //
DROP PROCEDURE IF EXISTS {refuse}//
CREATE PROCEDURE {refuse}(IN in_complaint TEXT CHARACTER SET utf8mb4)
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
    DECLARE v_text VARCHAR(128) CHARACTER SET utf8mb4 DEFAULT LEFT(in_complaint, 128);
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = v_text;
END//

DROP PROCEDURE IF EXISTS {check_text}//
CREATE PROCEDURE {check_text}(IN in_field VARCHAR(64), IN in_value LONGBLOB, IN in_chars_max INT, IN in_required BOOLEAN)
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
    DECLARE v_chars BIGINT DEFAULT CHAR_LENGTH(CONVERT(in_value USING utf8mb4));
    IF in_required AND COALESCE(LENGTH(in_value), 0) = 0 THEN
        CALL {refuse}(CONCAT(in_field, ': must not be empty'));
    ELSEIF v_chars > in_chars_max THEN
        CALL {refuse}(CONCAT(in_field, ': ', v_chars, ' characters, at most ', in_chars_max, ' allowed'));
    END IF;
END//

DROP PROCEDURE IF EXISTS {check_payload}//
CREATE PROCEDURE {check_payload}(IN in_payload LONGBLOB, IN in_headers LONGTEXT CHARACTER SET utf8mb4)
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
    IF in_payload IS NULL THEN
        CALL {refuse}('payload: missing; give an empty string for a message without a body');
    ELSEIF LENGTH(in_payload) > 1048576 THEN
        CALL {refuse}(CONCAT('payload: ', LENGTH(in_payload), ' bytes, at most 1048576 allowed (max_payload_bytes)'));
    END IF;
    IF in_headers IS NOT NULL AND (NOT JSON_VALID(in_headers) OR JSON_TYPE(in_headers) <> 'OBJECT') THEN
        CALL {refuse}('headers: must be a JSON object');
    ELSEIF LENGTH(in_headers) > 65536 THEN
        CALL {refuse}(CONCAT('headers: ', LENGTH(in_headers), ' bytes, at most 65536 allowed'));
    END IF;
END//

-- The 16 bytes of an owner token.
DROP PROCEDURE IF EXISTS {owner_bytes}//
CREATE PROCEDURE {owner_bytes}(IN in_owner VARCHAR(64) CHARACTER SET ascii, OUT out_bytes BINARY(16))
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
    SET out_bytes = UNHEX(REPLACE(in_owner, '-', ''));
    IF out_bytes IS NULL OR LENGTH(REPLACE(in_owner, '-', '')) <> 32
       OR out_bytes = UNHEX('00000000000000000000000000000000') THEN
        CALL {refuse}('owner_token: must be a UUID and not the nil token');
    END IF;
END//

-- Leases up to `batch` messages for `lease_seconds`. Rows: id, lease_id. Must be a transaction of its own.
DROP PROCEDURE IF EXISTS {claim}//
CREATE PROCEDURE {claim}(IN owner VARCHAR(64) CHARACTER SET ascii, IN lease_seconds INT, IN batch INT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_owner BINARY(16);
    DECLARE v_seqs LONGTEXT;
    DECLARE v_lease BIGINT
        DEFAULT CAST(CONV(SUBSTR(SHA2(CONCAT(UUID(), RAND()), 256), 1, 16), 16, -10) AS SIGNED);
    CALL {owner_bytes}(owner, v_owner);
    IF lease_seconds IS NULL OR lease_seconds <= 0 OR lease_seconds > 86400 THEN
        CALL {refuse}(CONCAT('lease: ', COALESCE(lease_seconds, 'NULL'), ' s, must be above 0 and at most 86400 s'));
    END IF;
    IF batch IS NULL OR batch <= 0 OR batch > 10000 THEN
        CALL {refuse}(CONCAT('batch: ', COALESCE(batch, 'NULL'), ', must be between 1 and 10000'));
    END IF;
    CALL {lease_some}(v_owner, v_lease, lease_seconds * 1000000, batch, FLOOR(RAND() * 8), v_seqs);
    SELECT CONCAT_WS('-', SUBSTR(d.h, 1, 8), SUBSTR(d.h, 9, 4), SUBSTR(d.h, 13, 4), SUBSTR(d.h, 17, 4), SUBSTR(d.h, 21)) AS id,
           v_lease AS lease_id
      FROM (SELECT LOWER(CONCAT(LPAD(HEX(m.seq >> 10), 12, '0'), '8',
                          LPAD(HEX(((m.seq & 1023) << 2) | (CAST(m.nonce AS UNSIGNED) >> 62)), 3, '0'),
                          LPAD(HEX((CAST(m.nonce AS UNSIGNED) & 4611686018427387903) | 9223372036854775808), 16, '0'))) AS h
              FROM (SELECT v.seq, v.nonce
                      FROM JSON_TABLE(COALESCE(v_seqs, '[]'), '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
                      STRAIGHT_JOIN {live} AS v ON v.seq = s.seq
                    UNION ALL
                    SELECT w.seq, w.nonce
                      FROM JSON_TABLE(COALESCE(v_seqs, '[]'), '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
                      STRAIGHT_JOIN {waiting} AS w ON w.seq = s.seq) AS m) AS d;
END//

-- The messages that a lease holds, as the views show them.
DROP PROCEDURE IF EXISTS {read}//
CREATE PROCEDURE {read}(IN lease_id BIGINT)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_lease BIGINT DEFAULT lease_id;
    SELECT CONCAT_WS('-', SUBSTR(d.h, 1, 8), SUBSTR(d.h, 9, 4), SUBSTR(d.h, 13, 4), SUBSTR(d.h, 17, 4), SUBSTR(d.h, 21)) AS id,
           d.*
      FROM (SELECT LOWER(CONCAT(LPAD(HEX(m.seq >> 10), 12, '0'), '8',
                          LPAD(HEX(((m.seq & 1023) << 2) | (CAST(m.nonce AS UNSIGNED) >> 62)), 3, '0'),
                          LPAD(HEX((CAST(m.nonce AS UNSIGNED) & 4611686018427387903) | 9223372036854775808), 16, '0'))) AS h, m.*
              FROM (SELECT v.* FROM {in_live} AS v WHERE v.lease_id = v_lease
                    UNION ALL
                    SELECT w.* FROM {in_waiting} AS w WHERE w.lease_id = v_lease) AS m) AS d;
END//

-- What the given ids mean under a lease or, without one, under all leases of an owner: a JSON array of
-- [seq, nonce, lease_id, retry_count].
DROP PROCEDURE IF EXISTS {held}//
CREATE PROCEDURE {held}(IN in_lease_id BIGINT, IN in_owner BINARY(16), IN in_ids LONGTEXT, OUT out_held LONGTEXT)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    IF in_ids IS NULL THEN
        CALL {refuse}('ids: must not be NULL');
    ELSEIF NOT JSON_VALID(in_ids) OR JSON_TYPE(in_ids) <> 'ARRAY' THEN
        CALL {refuse}('ids: must be a JSON array of texts');
    END IF;
    SELECT JSON_ARRAYAGG(JSON_ARRAY(d.seq, d.nonce, d.lease_id, d.retries)) INTO out_held
      FROM (SELECT DISTINCT i.seq, i.nonce, COALESCE(l.lease_id, v.lease_id) AS lease_id,
                   COALESCE(w.retry_count, 0) AS retries
              FROM (SELECT (CAST(CONV(SUBSTR(p.h, 1, 12), 16, 10) AS UNSIGNED) << 10)
                               | (CAST(CONV(SUBSTR(p.h, 14, 3), 16, 10) AS UNSIGNED) >> 2) AS seq,
                           CAST(((CAST(CONV(SUBSTR(p.h, 14, 3), 16, 10) AS UNSIGNED) & 3) << 62)
                                    | (CAST(CONV(SUBSTR(p.h, 17, 16), 16, 10) AS UNSIGNED) & 4611686018427387903)
                                AS SIGNED) AS nonce
                      FROM (SELECT REPLACE(s.id, '-', '') AS h
                              FROM JSON_TABLE(in_ids, '$[*]' COLUMNS (id VARCHAR(64) PATH '$')) AS s) AS p
                     WHERE LENGTH(p.h) = 32 AND SUBSTR(p.h, 13, 1) = '8') AS i
              LEFT JOIN {lease} AS l ON l.seq = i.seq
              LEFT JOIN {live} AS v ON v.seq = i.seq AND v.nonce = i.nonce
              LEFT JOIN {waiting} AS w ON w.seq = i.seq AND w.nonce = i.nonce
             WHERE COALESCE(l.lease_id, v.lease_id) = COALESCE(in_lease_id, l.lease_id, v.lease_id)
               AND COALESCE(l.owner, v.owner) = COALESCE(in_owner, l.owner, v.owner)
             ORDER BY i.seq LIMIT 1000000) AS d;
END//

-- Acknowledges, lease by lease; a message whose history cannot be kept is acknowledged all the same.
DROP PROCEDURE IF EXISTS {ack_held}//
CREATE PROCEDURE {ack_held}(IN in_lease_id BIGINT, IN in_owner BINARY(16), IN in_ids LONGTEXT, OUT out_changed BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_held, v_seqs, v_nonces, v_acked LONGTEXT;
    DECLARE v_lease BIGINT;
    DECLARE v_owner BINARY(16);
    SET out_changed = 0;
    CALL {held}(in_lease_id, in_owner, in_ids, v_held);
    WHILE v_held IS NOT NULL AND JSON_LENGTH(v_held) > 0 DO
        SET v_lease = JSON_EXTRACT(v_held, '$[0][2]');
        SELECT JSON_ARRAYAGG(s.seq), JSON_ARRAYAGG(s.nonce)
          INTO v_seqs, v_nonces
          FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]',
                                                  lease BIGINT PATH '$[2]')) AS s
         WHERE s.lease = v_lease;
        SELECT COALESCE((SELECT MAX(l.owner) FROM {lease} AS l
                          WHERE l.seq = JSON_EXTRACT(v_held, '$[0][0]')),
                        (SELECT MAX(v.owner) FROM {live} AS v
                          WHERE v.seq = JSON_EXTRACT(v_held, '$[0][0]')))
          INTO v_owner;
        BEGIN
            DECLARE CONTINUE HANDLER FOR SQLSTATE '42000', SQLSTATE '42S02', SQLSTATE '23000'
                CALL {acknowledge}(v_seqs, v_nonces, v_lease, v_owner, 0, v_acked);
            CALL {acknowledge}(v_seqs, v_nonces, v_lease, v_owner, 1, v_acked);
        END;
        SET out_changed = out_changed + COALESCE(JSON_LENGTH(v_acked), 0);
        SELECT JSON_ARRAYAGG(JSON_ARRAY(s.seq, s.nonce, s.lease)) INTO v_held
          FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]',
                                                  lease BIGINT PATH '$[2]')) AS s
         WHERE s.lease <> v_lease;
    END WHILE;
END//

-- Back-off without a given delay: 2^n seconds after the n-th failure, at most a minute. Dead after ten deliveries where the
-- message says nothing else. With in_dead the messages fail for good instead.
DROP PROCEDURE IF EXISTS {give_up_held}//
CREATE PROCEDURE {give_up_held}(IN in_lease_id BIGINT, IN in_owner BINARY(16), IN in_ids LONGTEXT, IN in_error MEDIUMTEXT CHARACTER SET utf8mb4,
                                IN in_delay_seconds DECIMAL(20, 6), IN in_frees_key TINYINT, IN in_dead BOOLEAN,
                                OUT out_changed BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_held LONGTEXT;
    DECLARE v_seq, v_nonce, v_lease, v_retries, v_delay BIGINT;
    DECLARE v_state TINYINT;
    DECLARE v_end BOOLEAN DEFAULT FALSE;
    DECLARE v_error MEDIUMTEXT CHARACTER SET utf8mb4 DEFAULT NULLIF(LEFT(in_error, 4000), '');
    DECLARE v_items CURSOR FOR
        SELECT s.seq, s.nonce, s.lease, s.retries
          FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]',
                                                  lease BIGINT PATH '$[2]', retries BIGINT PATH '$[3]')) AS s;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    IF in_delay_seconds <= 0 OR in_delay_seconds > 315360000 THEN
        CALL {refuse}(CONCAT('delay: ', in_delay_seconds, ' s, must be above 0 and at most 315360000 s'));
    END IF;
    SET out_changed = 0;
    CALL {held}(in_lease_id, in_owner, in_ids, v_held);
    SET v_held = COALESCE(v_held, '[]'), v_end = FALSE;
    OPEN v_items;
    items: LOOP
        FETCH v_items INTO v_seq, v_nonce, v_lease, v_retries;
        IF v_end THEN
            LEAVE items;
        END IF;
        IF in_dead THEN
            CALL {kill_one}(v_seq, v_nonce, v_lease, v_error, 'failed', COALESCE(in_frees_key, 0), v_state);
            SET out_changed = out_changed + v_state;
        ELSE
            SET v_delay = COALESCE(in_delay_seconds, LEAST(POW(2, LEAST(v_retries + 1, 6)), 60)) * 1000000;
            CALL {release}(v_seq, v_nonce, v_lease, v_error, v_delay, 1, 10, COALESCE(in_frees_key, 0), v_state);
            SET out_changed = out_changed + (v_state IS NOT NULL);
        END IF;
        SET v_end = FALSE;
    END LOOP;
    CLOSE v_items;
END//

-- The settling verbs, each by lease and by owner. By owner alone, a worker that lost its lease to another claim of the same owner
-- is not told apart from it. Each yields how many messages it changed. A message that dies holds back the later ones of its
-- ordering key until it is redriven, unless frees_key says otherwise.
DROP PROCEDURE IF EXISTS {ack}//
CREATE PROCEDURE {ack}(IN lease_id BIGINT, IN ids LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_changed BIGINT;
    DECLARE v_owner BINARY(16);
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    IF lease_id IS NULL THEN
        CALL {refuse}('lease_id: must not be NULL');
    END IF;
    CALL {begin_own}(v_own);
    CALL {ack_held}(lease_id, NULL, ids, v_changed);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_changed AS changed;
END//

DROP PROCEDURE IF EXISTS {ack_by_owner}//
CREATE PROCEDURE {ack_by_owner}(IN owner VARCHAR(64) CHARACTER SET ascii, IN ids LONGTEXT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_changed BIGINT;
    DECLARE v_owner BINARY(16);
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {owner_bytes}(owner, v_owner);
    CALL {begin_own}(v_own);
    CALL {ack_held}(NULL, v_owner, ids, v_changed);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_changed AS changed;
END//

DROP PROCEDURE IF EXISTS {abandon}//
CREATE PROCEDURE {abandon}(IN lease_id BIGINT, IN ids LONGTEXT, IN error MEDIUMTEXT CHARACTER SET utf8mb4,
                           IN delay_seconds DECIMAL(20, 6), IN frees_key TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_changed BIGINT;
    DECLARE v_owner BINARY(16);
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    IF lease_id IS NULL THEN
        CALL {refuse}('lease_id: must not be NULL');
    END IF;
    CALL {begin_own}(v_own);
    CALL {give_up_held}(lease_id, NULL, ids, error, delay_seconds, frees_key, FALSE, v_changed);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_changed AS changed;
END//

DROP PROCEDURE IF EXISTS {abandon_by_owner}//
CREATE PROCEDURE {abandon_by_owner}(IN owner VARCHAR(64) CHARACTER SET ascii, IN ids LONGTEXT,
                                    IN error MEDIUMTEXT CHARACTER SET utf8mb4, IN delay_seconds DECIMAL(20, 6),
                                    IN frees_key TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_changed BIGINT;
    DECLARE v_owner BINARY(16);
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {owner_bytes}(owner, v_owner);
    CALL {begin_own}(v_own);
    CALL {give_up_held}(NULL, v_owner, ids, error, delay_seconds, frees_key, FALSE, v_changed);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_changed AS changed;
END//

DROP PROCEDURE IF EXISTS {fail}//
CREATE PROCEDURE {fail}(IN lease_id BIGINT, IN ids LONGTEXT, IN error MEDIUMTEXT CHARACTER SET utf8mb4, IN frees_key TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_changed BIGINT;
    DECLARE v_owner BINARY(16);
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    IF lease_id IS NULL THEN
        CALL {refuse}('lease_id: must not be NULL');
    END IF;
    CALL {begin_own}(v_own);
    CALL {give_up_held}(lease_id, NULL, ids, error, NULL, frees_key, TRUE, v_changed);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_changed AS changed;
END//

DROP PROCEDURE IF EXISTS {fail_by_owner}//
CREATE PROCEDURE {fail_by_owner}(IN owner VARCHAR(64) CHARACTER SET ascii, IN ids LONGTEXT,
                                 IN error MEDIUMTEXT CHARACTER SET utf8mb4, IN frees_key TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_changed BIGINT;
    DECLARE v_owner BINARY(16);
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {owner_bytes}(owner, v_owner);
    CALL {begin_own}(v_own);
    CALL {give_up_held}(NULL, v_owner, ids, error, NULL, frees_key, TRUE, v_changed);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_changed AS changed;
END//

-- Takes back all leases that have run out; yields how many.
DROP PROCEDURE IF EXISTS {reap}//
CREATE PROCEDURE {reap}()
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_round, v_born, v_total BIGINT DEFAULT 0;
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {begin_own}(v_own);
    REPEAT
        CALL {take_back}(1000, v_round);
        CALL {take_born}(0, 9223372036854775807, 1000, v_born);
        SET v_total = v_total + v_round + v_born;
    UNTIL v_round < 1000 AND v_born < 1000 END REPEAT;
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_total AS reaped;
END//
DELIMITER ;
