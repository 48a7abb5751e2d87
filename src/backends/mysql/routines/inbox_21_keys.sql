-- The memory of the inbox: what is seen, marked and done.

-- Notes that a message was seen; out_previous NULL: never heard of.
{define:procedure notice}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_hash VARBINARY(1024),
                          OUT out_previous TINYINT, OUT out_mismatch TINYINT)
{modifies} BEGIN
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
        CALL {hold_content}(v_seq, v_key_state, FALSE, v_live, v_leased, out_previous);
        SET out_mismatch = COALESCE(in_hash <> v_hash, 0);
        IF v_hash IS NULL AND in_hash IS NOT NULL THEN
            UPDATE {key} SET hash = in_hash WHERE source = in_source AND message_id = in_message_id;
        END IF;
    END IF;
END//

{define:procedure do_see}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_hash VARBINARY(1024))
{modifies} BEGIN
    DECLARE v_previous, v_mismatch TINYINT;
    CALL {notice}(in_source, in_message_id, in_hash, v_previous, v_mismatch);
    SELECT v_previous AS previous, v_mismatch AS hash_mismatch;
END//

-- Puts the message into in_state whatever it was but done, and drops a lease. out_previous NULL: no such message.
{define:procedure put_mark}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_state TINYINT,
                            IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, OUT out_previous TINYINT)
{modifies} body: BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_found, v_seq BIGINT;
    DECLARE v_key_state, v_live, v_leased TINYINT;
    DECLARE v_retries INT DEFAULT 0;
    DECLARE v_error MEDIUMTEXT CHARACTER SET utf8mb4;
    SET out_previous = NULL;
    SELECT COUNT(*), MAX(k.seq), MAX(k.state) INTO v_found, v_seq, v_key_state
      FROM {key} AS k WHERE k.source = in_source AND k.message_id = in_message_id FOR UPDATE;
    IF v_found = 0 THEN
        LEAVE body;
    END IF;
    CALL {hold_content}(v_seq, v_key_state, FALSE, v_live, v_leased, out_previous);
    IF out_previous = 2 THEN
        LEAVE body;
    END IF;
    IF in_state = 2 THEN
        IF v_live = 0 THEN
            SELECT COALESCE(MAX(m.retry_count), 0), MAX(m.last_error) INTO v_retries, v_error
              FROM {waiting} AS m WHERE m.seq = v_seq;
            INSERT INTO {turn} (ordering_key)
            SELECT m.ordering_key FROM {waiting} AS m WHERE m.seq = v_seq AND m.ordering_key IS NOT NULL;
            DELETE FROM {waiting} WHERE seq = v_seq;
        ELSEIF v_live = 1 THEN
            DELETE FROM {live} WHERE seq = v_seq;
        END IF;
        UPDATE {key} AS k
           SET k.last_error = IF(v_seq IS NULL, k.last_error, v_error), k.retry_count = v_retries, k.state = 2, k.seq = NULL,
               k.nonce = NULL, k.processed_at = v_at
         WHERE k.source = in_source AND k.message_id = in_message_id;
    ELSEIF v_seq IS NULL THEN
        UPDATE {key} AS k SET k.state = in_state, k.last_error = IF(in_state = 3, in_error, k.last_error)
         WHERE k.source = in_source AND k.message_id = in_message_id;
    ELSEIF in_state = 3 AND v_live = 1 THEN
        CALL {park}(JSON_ARRAY(v_seq), NULL, 3, 'failed', 0, 0, in_error);
    ELSEIF in_state = 3 THEN
        UPDATE {waiting} AS m
           SET m.state = 3, m.dead_reason = 'failed', m.last_error = COALESCE(in_error, m.last_error), m.died_at = v_at
         WHERE m.seq = v_seq;
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

{define:procedure do_mark}(IN in_source VARBINARY(1024), IN in_message_id VARBINARY(1024), IN in_state TINYINT,
                           IN in_error MEDIUMTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    DECLARE v_previous TINYINT;
    CALL {put_mark}(in_source, in_message_id, in_state, in_error, v_previous);
    IF v_previous IS NOT NULL THEN
        SELECT v_previous AS previous;
    END IF;
END//

-- Locks the keys of messages that are about to be acknowledged, before the messages and in one order for everybody. Reads
-- the messages without a lock: source and message id of a number never change.
{define:procedure lock_keys}(IN in_seqs LONGTEXT)
{reads} BEGIN
    DECLARE v_count BIGINT;
    SELECT COUNT(*) INTO v_count
      FROM (SELECT m.source, m.message_id
              FROM JSON_TABLE(in_seqs, {numbers}) AS s
              STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             UNION
            SELECT m.source, m.message_id
              FROM JSON_TABLE(in_seqs, {numbers}) AS s
              STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             ORDER BY source, message_id LIMIT 1000000) AS d
      STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = d.source AND k.message_id = d.message_id
       FOR UPDATE;
END//

-- Acknowledged messages are done: how often they failed stays known and, with in_keep, their content.
{define:procedure finish}(IN in_live LONGTEXT, IN in_waiting LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii DEFAULT {owner_text};
    IF in_live IS NOT NULL THEN
        UPDATE JSON_TABLE(in_live, {numbers}) AS s
        STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
        {set_key_done}, k.retry_count = 0, k.last_error = NULL;
    END IF;
    IF in_waiting IS NOT NULL THEN
        UPDATE JSON_TABLE(in_waiting, {numbers}) AS s
        STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
        {set_key_done}, k.retry_count = m.retry_count, k.last_error = m.last_error;
    END IF;
END//

-- The fresh messages from in_first to in_last are done. Locks their keys before anything else. An UPDATE of a join
-- writes every row into a temporary table first; running into the key does not, but locks the gap below it, which is for
-- short transactions only.
{define:procedure finish_run}(IN in_first BIGINT, IN in_last BIGINT, IN in_owner BINARY(16), IN in_keep TINYINT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii DEFAULT {owner_text};
    INSERT INTO {key} (source, message_id, state, first_seen, last_seen, processed_at, processed_by, content_type, headers,
                       payload)
    SELECT m.source, m.message_id, 2, m.created_at, m.created_at, v_at, v_owner, {kept_content}
      FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN in_first AND in_last
     ORDER BY m.source, m.message_id
        ON DUPLICATE KEY UPDATE state = 2, seq = NULL, nonce = NULL, processed_at = v_at, processed_by = v_owner,
                                last_error = NULL, content_type = VALUES(content_type), headers = VALUES(headers),
                                payload = VALUES(payload);
END//
