-- The inbox for any language. Times are UTC.

DELIMITER //
DROP PROCEDURE IF EXISTS {check_key}//
CREATE PROCEDURE {check_key}(IN in_message_id LONGBLOB, IN in_source LONGBLOB, IN in_hash LONGBLOB)
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
    CALL {check_text}('message_id', in_message_id, 255, TRUE);
    CALL {check_text}('source', in_source, 255, TRUE);
    IF LENGTH(in_hash) > 1024 THEN
        CALL {refuse}(CONCAT('hash: ', LENGTH(in_hash), ' bytes, at most 1024 allowed'));
    END IF;
END//

-- Whether the message has been processed; notes that it was seen.
DROP PROCEDURE IF EXISTS {already_processed}//
CREATE PROCEDURE {already_processed}(IN message_id LONGBLOB, IN source LONGBLOB, IN hash LONGBLOB)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_previous, v_mismatch TINYINT;
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {check_key}(message_id, source, hash);
    CALL {begin_own}(v_own);
    CALL {notice}(source, message_id, hash, v_previous, v_mismatch);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT COALESCE(v_previous = 2, FALSE) AS already_processed;
END//

-- Stores the message for processing unless it is done, or refreshes what nobody holds. Yields its work-item id; NULL: it was
-- done before.
DROP PROCEDURE IF EXISTS {enqueue}//
CREATE PROCEDURE {enqueue}(
    IN topic VARBINARY(4096), IN source LONGBLOB, IN message_id LONGBLOB, IN payload LONGBLOB, IN hash LONGBLOB,
    IN due_time DATETIME(6), IN content_type VARBINARY(4096), IN headers LONGTEXT CHARACTER SET utf8mb4,
    IN ordering_key VARBINARY(4096))
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_seq, v_nonce BIGINT;
    DECLARE v_previous, v_mismatch TINYINT;
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {check_text}('topic', topic, 255, TRUE);
    CALL {check_key}(message_id, source, hash);
    CALL {check_payload}(payload, headers);
    CALL {check_text}('content_type', content_type, 255, FALSE);
    CALL {check_text}('ordering_key', ordering_key, 255, FALSE);
    CALL {begin_own}(v_own);
    CALL {take_in}(CAST(CONV(SUBSTR(SHA2(CONCAT(UUID(), RAND()), 256), 1, 16), 16, -10) AS SIGNED), source, message_id, topic,
                   payload, hash, COALESCE(content_type, 'application/json'), headers, NULLIF(ordering_key, ''), due_time,
                   NULL, 0, NULL, 0, v_seq, v_nonce, v_previous, v_mismatch);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT IF(v_seq IS NULL, NULL, CONCAT_WS('-', SUBSTR(d.h, 1, 8), SUBSTR(d.h, 9, 4), SUBSTR(d.h, 13, 4), SUBSTR(d.h, 17, 4), SUBSTR(d.h, 21))) AS id
      FROM (SELECT LOWER(CONCAT(LPAD(HEX(m.seq >> 10), 12, '0'), '8',
                          LPAD(HEX(((m.seq & 1023) << 2) | (CAST(m.nonce AS UNSIGNED) >> 62)), 3, '0'),
                          LPAD(HEX((CAST(m.nonce AS UNSIGNED) & 4611686018427387903) | 9223372036854775808), 16, '0'))) AS h
              FROM (SELECT v_seq AS seq, v_nonce AS nonce) AS m) AS d;
END//

-- Puts the message into a state, whatever it was but done, and drops a lease. Yields 0 when there is no such message.
DROP PROCEDURE IF EXISTS {mark}//
CREATE PROCEDURE {mark}(IN in_message_id LONGBLOB, IN in_source LONGBLOB, IN in_state TINYINT,
                        IN in_error MEDIUMTEXT CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_previous TINYINT;
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_own THEN
            ROLLBACK;
        END IF;
        RESIGNAL;
    END;
    CALL {check_key}(in_message_id, in_source, NULL);
    CALL {begin_own}(v_own);
    CALL {put_mark}(in_source, in_message_id, in_state, NULLIF(LEFT(in_error, 4000), ''), v_previous);
    IF v_own THEN
        COMMIT;
    END IF;
    SELECT v_previous IS NOT NULL AS marked;
END//

DROP PROCEDURE IF EXISTS {mark_processing}//
CREATE PROCEDURE {mark_processing}(IN message_id LONGBLOB, IN source LONGBLOB)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    CALL {mark}(message_id, source, 0, NULL);
END//

DROP PROCEDURE IF EXISTS {mark_processed}//
CREATE PROCEDURE {mark_processed}(IN message_id LONGBLOB, IN source LONGBLOB)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    CALL {mark}(message_id, source, 2, NULL);
END//

DROP PROCEDURE IF EXISTS {mark_dead}//
CREATE PROCEDURE {mark_dead}(IN message_id LONGBLOB, IN source LONGBLOB, IN error MEDIUMTEXT CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    CALL {mark}(message_id, source, 3, error);
END//
DELIMITER ;
