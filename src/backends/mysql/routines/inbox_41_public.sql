-- The inbox for any language. Times are UTC.

{define:procedure check_key}(IN in_message_id LONGBLOB, IN in_source LONGBLOB, IN in_hash LONGBLOB)
{computes} BEGIN
    CALL {check_text}('message_id', in_message_id, 255, TRUE);
    CALL {check_text}('source', in_source, 255, TRUE);
    IF LENGTH(in_hash) > 1024 THEN
        CALL {refuse}(CONCAT('hash: ', LENGTH(in_hash), ' bytes, at most 1024 allowed'));
    END IF;
END//

-- The sender has reused an id, or somebody tampered with the content: worth a warning, and no reason to stop.
{define:procedure warn_of_hash}(IN in_mismatch TINYINT)
{computes} BEGIN
    IF in_mismatch THEN
        SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'the message came with another hash than before';
    END IF;
END//

-- Whether the message has been processed; notes that it was seen.
{define:procedure already_processed}(IN message_id LONGBLOB, IN source LONGBLOB, IN hash LONGBLOB)
{modifies} BEGIN
    DECLARE v_previous, v_mismatch TINYINT;
    {own_transaction}
    CALL {check_key}(message_id, source, hash);
    CALL {begin_own}(v_own);
    CALL {notice}(source, message_id, hash, v_previous, v_mismatch);
    {commit_own}
    SELECT COALESCE(v_previous = 2, FALSE) AS already_processed;
    CALL {warn_of_hash}(v_mismatch);
END//

-- Stores the message for processing unless it is done, or refreshes what nobody holds. Yields its work-item id; NULL: it was
-- done before. The options are a JSON object: due_time, content_type, headers, ordering_key, priority, max_attempts, expires_at,
-- and revive, without which a dead message stays dead.
{define:procedure enqueue_with}(IN topic VARBINARY(4096), IN source LONGBLOB, IN message_id LONGBLOB, IN payload LONGBLOB,
                                IN hash LONGBLOB, IN options LONGTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    DECLARE v_content_type, v_ordering_key VARCHAR(4096) CHARACTER SET utf8mb4;
    DECLARE v_headers LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_due_time, v_expires_at DATETIME(6);
    DECLARE v_priority, v_max_attempts, v_seq, v_nonce BIGINT;
    DECLARE v_previous, v_mismatch, v_revive TINYINT;
    {own_transaction}
    IF options IS NOT NULL AND (NOT JSON_VALID(options) OR JSON_TYPE(options) <> 'OBJECT') THEN
        CALL {refuse}('options: must be a JSON object');
    END IF;
    SELECT o.due_time, o.content_type, o.ordering_key, o.priority, o.max_attempts, o.expires_at
      INTO v_due_time, v_content_type, v_ordering_key, v_priority, v_max_attempts, v_expires_at
      FROM JSON_TABLE(COALESCE(options, '{}'), '$' COLUMNS (
               due_time VARCHAR(40) PATH '$.due_time', content_type VARCHAR(4096) PATH '$.content_type',
               ordering_key VARCHAR(4096) PATH '$.ordering_key', priority BIGINT PATH '$.priority',
               max_attempts BIGINT PATH '$.max_attempts', expires_at VARCHAR(40) PATH '$.expires_at')) AS o;
    SET v_headers = JSON_EXTRACT(options, '$.headers'),
        v_revive = COALESCE(JSON_EXTRACT(options, '$.revive') = TRUE, FALSE);
    IF JSON_TYPE(v_headers) = 'NULL' THEN
        SET v_headers = NULL;
    END IF;
    CALL {check_text}('topic', topic, 255, TRUE);
    CALL {check_key}(message_id, source, hash);
    CALL {check_payload}(payload, v_headers);
    CALL {check_text}('content_type', v_content_type, 255, FALSE);
    CALL {check_text}('ordering_key', v_ordering_key, 255, FALSE);
    CALL {check_end}(v_max_attempts, v_due_time, v_expires_at);
    CALL {begin_own}(v_own);
    CALL {take_in_one}({random}, message_id, topic, payload, COALESCE(v_content_type, 'application/json'), v_headers,
                           NULLIF(v_ordering_key, ''), source, hash, v_due_time, v_expires_at, COALESCE(v_priority, 0),
                           v_max_attempts, v_revive, v_own, v_seq, v_nonce, v_previous, v_mismatch);
    {commit_own}
    SELECT {item_id} AS id FROM (SELECT v_seq AS seq, v_nonce AS nonce) AS m;
    CALL {warn_of_hash}(v_mismatch);
END//

{define:procedure enqueue}(
    IN topic VARBINARY(4096), IN source LONGBLOB, IN message_id LONGBLOB, IN payload LONGBLOB, IN hash LONGBLOB,
    IN due_time DATETIME(6), IN content_type VARBINARY(4096), IN headers LONGTEXT CHARACTER SET utf8mb4,
    IN ordering_key VARBINARY(4096))
{modifies} BEGIN
    DECLARE v_options LONGTEXT CHARACTER SET utf8mb4;
    IF headers IS NOT NULL AND NOT JSON_VALID(headers) THEN
        CALL {refuse}('headers: must be a JSON object');
    END IF;
    SET v_options = JSON_OBJECT('due_time', CAST(due_time AS CHAR), 'content_type', CONVERT(content_type USING utf8mb4),
                                'headers', JSON_EXTRACT(headers, '$'), 'ordering_key', CONVERT(ordering_key USING utf8mb4));
    CALL {enqueue_with}(topic, source, message_id, payload, hash, v_options);
END//

-- Puts the message into a state, whatever it was but done, and drops a lease. Yields 0 when there is no such message.
{define:procedure mark}(IN in_message_id LONGBLOB, IN in_source LONGBLOB, IN in_state TINYINT,
                        IN in_error MEDIUMTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    DECLARE v_previous TINYINT;
    {own_transaction}
    CALL {check_key}(in_message_id, in_source, NULL);
    CALL {begin_own}(v_own);
    CALL {put_mark}(in_source, in_message_id, in_state, NULLIF(LEFT(in_error, 4000), ''), v_previous);
    {commit_own}
    SELECT v_previous IS NOT NULL AS marked;
END//

{define:procedure mark_processing}(IN message_id LONGBLOB, IN source LONGBLOB)
{modifies} BEGIN
    CALL {mark}(message_id, source, 0, NULL);
END//

{define:procedure mark_processed}(IN message_id LONGBLOB, IN source LONGBLOB)
{modifies} BEGIN
    CALL {mark}(message_id, source, 2, NULL);
END//

{define:procedure mark_dead}(IN message_id LONGBLOB, IN source LONGBLOB, IN error MEDIUMTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    CALL {mark}(message_id, source, 3, error);
END//

-- What an owner holds of these message ids, a JSON array: their work-item ids. Refused when it holds one id from two sources: then
-- the lease has to be named.
{define:procedure held_ids}(IN in_owner BINARY(16), IN in_message_ids LONGTEXT CHARACTER SET utf8mb4, OUT out_ids LONGTEXT)
{reads} BEGIN
    DECLARE v_names, v_held BIGINT;
    IF in_message_ids IS NULL OR NOT JSON_VALID(in_message_ids) OR JSON_TYPE(in_message_ids) <> 'ARRAY' THEN
        CALL {refuse}('message_ids: must be a JSON array of texts');
    END IF;
    SELECT JSON_ARRAYAGG({item_id}), COUNT(*), COUNT(DISTINCT m.message_id) INTO out_ids, v_held, v_names
      FROM (SELECT DISTINCT CAST(j.id AS BINARY) AS id
              FROM JSON_TABLE(in_message_ids, '$[*]' COLUMNS (id VARCHAR(1024) PATH '$')) AS j) AS s
      STRAIGHT_JOIN {key} AS m FORCE INDEX (`{queue}_key_by_message_id`) ON m.message_id = s.id
      STRAIGHT_JOIN {lease} AS l ON l.seq = m.seq
     WHERE l.owner = in_owner;
    IF v_held > v_names THEN
        CALL {refuse}('message_ids: one is leased from several sources; settle by lease');
    END IF;
    SET out_ids = COALESCE(out_ids, '[]');
END//

-- The settling verbs by owner and message id.
{define:procedure settle_messages}(IN in_verb VARCHAR(8) CHARACTER SET ascii, IN in_owner VARCHAR(64) CHARACTER SET ascii,
                                   IN in_message_ids LONGTEXT CHARACTER SET utf8mb4,
                                   IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, IN in_delay_seconds DECIMAL(20, 6))
{modifies} BEGIN
    DECLARE v_owner BINARY(16);
    DECLARE v_ids LONGTEXT;
    CALL {owner_bytes}(in_owner, v_owner);
    CALL {held_ids}(v_owner, in_message_ids, v_ids);
    CALL {settle_held}(in_verb, NULL, v_owner, v_ids, in_error, in_delay_seconds, 0);
END//

{define:procedure ack_messages}(IN owner VARCHAR(64) CHARACTER SET ascii, IN message_ids LONGTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    CALL {settle_messages}('ack', owner, message_ids, NULL, NULL);
END//

{define:procedure abandon_messages}(IN owner VARCHAR(64) CHARACTER SET ascii, IN message_ids LONGTEXT CHARACTER SET utf8mb4,
                                    IN error MEDIUMTEXT CHARACTER SET utf8mb4, IN delay_seconds DECIMAL(20, 6))
{modifies} BEGIN
    CALL {settle_messages}('abandon', owner, message_ids, error, delay_seconds);
END//

{define:procedure fail_messages}(IN owner VARCHAR(64) CHARACTER SET ascii, IN message_ids LONGTEXT CHARACTER SET utf8mb4,
                                 IN error MEDIUMTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    CALL {settle_messages}('fail', owner, message_ids, error, NULL);
END//
