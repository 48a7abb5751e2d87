-- What only the outbox does: store with a key, keep a history, purge.

DELIMITER //
-- A number for a message that has no place in {live}: numbers come from one source. The row that draws it lives and dies in
-- the caller's transaction.
DROP PROCEDURE IF EXISTS {draw}//
CREATE PROCEDURE {draw}(OUT out_seq BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    INSERT INTO {live} (nonce, message_id, topic, payload) VALUES (0, '-', '-', '');
    SET out_seq = LAST_INSERT_ID();
    DELETE FROM {live} WHERE seq = out_seq;
END//

-- A message with an idempotency key, a due time, an ordering key or a low priority. The key comes first: whoever finds it
-- taken writes nothing. Its row is locked either way, so two writers of one key wait for each other; it is new while it has no
-- number yet.
DROP PROCEDURE IF EXISTS {store}//
CREATE PROCEDURE {store}(
    IN in_nonce BIGINT, IN in_message_id VARBINARY(1024), IN in_topic VARBINARY(1024), IN in_payload LONGBLOB,
    IN in_content_type VARBINARY(1024), IN in_headers LONGTEXT CHARACTER SET utf8mb4, IN in_correlation_id VARBINARY(1024),
    IN in_tenant_id VARBINARY(1024), IN in_idempotency_key VARBINARY(1024), IN in_aggregate_type VARBINARY(1024),
    IN in_aggregate_id VARBINARY(1024), IN in_occurred_at DATETIME(6), IN in_expires_at DATETIME(6), IN in_priority BIGINT,
    IN in_ordering_key VARBINARY(1024), IN in_max_attempts BIGINT, IN in_key VARBINARY(1024), IN in_due_time DATETIME(6),
    OUT out_seq BIGINT, OUT out_nonce BIGINT, OUT out_message_id VARBINARY(1024), OUT out_existed TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_due DATETIME(6) DEFAULT COALESCE(in_due_time, v_at);
    SET out_seq = 0, out_nonce = in_nonce, out_message_id = in_message_id;
    IF in_key IS NOT NULL THEN
        INSERT INTO {key} (tenant_id, idempotency_key, nonce, message_id, created_at)
        VALUES (in_tenant_id, in_key, in_nonce, in_message_id, v_at)
            ON DUPLICATE KEY UPDATE seq = seq;
        SELECT k.seq, k.nonce, k.message_id INTO out_seq, out_nonce, out_message_id
          FROM {key} AS k WHERE k.tenant_id = in_tenant_id AND k.idempotency_key = in_key FOR UPDATE;
    END IF;
    SET out_existed = out_seq <> 0;
    IF NOT out_existed THEN
        -- A row without a number is one that a call which failed left in the transaction of a caller who went on: now it is ours.
        SET out_nonce = in_nonce, out_message_id = in_message_id;
        IF in_due_time > v_at OR in_priority < 0 OR in_ordering_key IS NOT NULL THEN
            CALL {draw}(out_seq);
            INSERT INTO {waiting} (
                seq, nonce, created_at, available_at, occurred_at, due_time, expires_at, priority, max_attempts, message_id,
                topic, tenant_id, correlation_id, idempotency_key, aggregate_type, aggregate_id, ordering_key, content_type,
                headers, payload)
            VALUES (out_seq, in_nonce, v_at, LEAST(v_due, COALESCE(in_expires_at, v_due)), in_occurred_at, in_due_time,
                    in_expires_at, in_priority, in_max_attempts, in_message_id, in_topic, in_tenant_id, in_correlation_id,
                    in_idempotency_key, in_aggregate_type, in_aggregate_id, in_ordering_key, in_content_type, in_headers,
                    in_payload);
        ELSE
            INSERT INTO {live} (
                nonce, created_at, occurred_at, due_time, expires_at, priority, max_attempts, message_id, topic, tenant_id,
                correlation_id, idempotency_key, aggregate_type, aggregate_id, content_type, headers, payload)
            VALUES (in_nonce, v_at, in_occurred_at, in_due_time, in_expires_at, in_priority, in_max_attempts, in_message_id,
                    in_topic, in_tenant_id, in_correlation_id, in_idempotency_key, in_aggregate_type, in_aggregate_id,
                    in_content_type, in_headers, in_payload);
            SET out_seq = LAST_INSERT_ID();
        END IF;
        IF in_key IS NOT NULL THEN
            UPDATE {key} SET seq = out_seq, nonce = in_nonce, message_id = in_message_id, created_at = v_at
             WHERE tenant_id = in_tenant_id AND idempotency_key = in_key;
        END IF;
    END IF;
END//

DROP PROCEDURE IF EXISTS {do_enqueue}//
CREATE PROCEDURE {do_enqueue}(
    IN in_nonce BIGINT, IN in_message_id VARBINARY(1024), IN in_topic VARBINARY(1024), IN in_payload LONGBLOB,
    IN in_content_type VARBINARY(1024), IN in_headers LONGTEXT CHARACTER SET utf8mb4, IN in_correlation_id VARBINARY(1024),
    IN in_tenant_id VARBINARY(1024), IN in_idempotency_key VARBINARY(1024), IN in_aggregate_type VARBINARY(1024),
    IN in_aggregate_id VARBINARY(1024), IN in_occurred_at DATETIME(6), IN in_expires_at DATETIME(6), IN in_priority BIGINT,
    IN in_ordering_key VARBINARY(1024), IN in_max_attempts BIGINT, IN in_key VARBINARY(1024), IN in_due_time DATETIME(6))
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_seq, v_nonce BIGINT;
    DECLARE v_message_id VARBINARY(1024);
    DECLARE v_existed TINYINT;
    CALL {store}(in_nonce, in_message_id, in_topic, in_payload, in_content_type, in_headers, in_correlation_id, in_tenant_id,
                 in_idempotency_key, in_aggregate_type, in_aggregate_id, in_occurred_at, in_expires_at, in_priority,
                 in_ordering_key, in_max_attempts, in_key, in_due_time, v_seq, v_nonce, v_message_id, v_existed);
    SELECT v_seq AS seq, v_nonce AS nonce, v_message_id AS message_id, v_existed AS already_existed;
END//

-- Nobody changes a fresh message of the outbox that is not leased, so a claim need not lock it.
DROP PROCEDURE IF EXISTS {lock_fresh}//
CREATE PROCEDURE {lock_fresh}(INOUT io_seqs LONGTEXT)
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
END//

-- No keys stand between an outbox message and its lease.
DROP PROCEDURE IF EXISTS {lock_keys}//
CREATE PROCEDURE {lock_keys}(IN in_seqs LONGTEXT)
CONTAINS SQL SQL SECURITY INVOKER
BEGIN
END//

-- Keeps acknowledged messages as history. REPLACE: a number that a doctored database gave out twice must not keep a delivery
-- from being noted.
DROP PROCEDURE IF EXISTS {finish}//
CREATE PROCEDURE {finish}(IN in_live LONGTEXT, IN in_waiting LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii
        DEFAULT LOWER(CONCAT_WS('-', SUBSTR(HEX(in_owner), 1, 8), SUBSTR(HEX(in_owner), 9, 4), SUBSTR(HEX(in_owner), 13, 4),
                                SUBSTR(HEX(in_owner), 17, 4), SUBSTR(HEX(in_owner), 21)));
    IF in_keep AND in_live IS NOT NULL THEN
        REPLACE INTO {done} (
            seq, nonce, created_at, priority, max_attempts, occurred_at, due_time, expires_at, message_id, topic, tenant_id,
            correlation_id, idempotency_key, aggregate_type, aggregate_id, ordering_key, source, hash, content_type,
            headers, payload,
            processed_at, processed_by, available_at, retry_count, lost_count)
        SELECT m.seq, m.nonce, m.created_at, m.priority, m.max_attempts, m.occurred_at, m.due_time, m.expires_at, m.message_id,
               m.topic, m.tenant_id, m.correlation_id, m.idempotency_key, m.aggregate_type, m.aggregate_id,
               m.ordering_key, m.source, m.hash, m.content_type, m.headers, m.payload,
               v_at, v_owner, COALESCE(m.due_time, m.created_at), 0, 0
          FROM JSON_TABLE(in_live, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
    END IF;
    IF in_keep AND in_waiting IS NOT NULL THEN
        REPLACE INTO {done} (
            seq, nonce, created_at, priority, max_attempts, occurred_at, due_time, expires_at, message_id, topic, tenant_id,
            correlation_id, idempotency_key, aggregate_type, aggregate_id, ordering_key, source, hash, content_type,
            headers, payload,
            processed_at, processed_by, available_at, retry_count, lost_count)
        SELECT m.seq, m.nonce, m.created_at, m.priority, m.max_attempts, m.occurred_at, m.due_time, m.expires_at, m.message_id,
               m.topic, m.tenant_id, m.correlation_id, m.idempotency_key, m.aggregate_type, m.aggregate_id,
               m.ordering_key, m.source, m.hash, m.content_type, m.headers, m.payload,
               v_at, v_owner, m.available_at, m.retry_count, m.lost_count
          FROM JSON_TABLE(in_waiting, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
    END IF;
END//

-- The same for the fresh messages from in_first to in_last.
DROP PROCEDURE IF EXISTS {finish_run}//
CREATE PROCEDURE {finish_run}(IN in_first BIGINT, IN in_last BIGINT, IN in_owner BINARY(16), IN in_keep TINYINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii
        DEFAULT LOWER(CONCAT_WS('-', SUBSTR(HEX(in_owner), 1, 8), SUBSTR(HEX(in_owner), 9, 4), SUBSTR(HEX(in_owner), 13, 4),
                                SUBSTR(HEX(in_owner), 17, 4), SUBSTR(HEX(in_owner), 21)));
    IF in_keep THEN
        REPLACE INTO {done} (
            seq, nonce, created_at, priority, max_attempts, occurred_at, due_time, expires_at, message_id, topic, tenant_id,
            correlation_id, idempotency_key, aggregate_type, aggregate_id, ordering_key, source, hash, content_type,
            headers, payload,
            processed_at, processed_by, available_at, retry_count, lost_count)
        SELECT m.seq, m.nonce, m.created_at, m.priority, m.max_attempts, m.occurred_at, m.due_time, m.expires_at, m.message_id,
               m.topic, m.tenant_id, m.correlation_id, m.idempotency_key, m.aggregate_type, m.aggregate_id,
               m.ordering_key, m.source, m.hash, m.content_type, m.headers, m.payload,
               v_at, v_owner, COALESCE(m.due_time, m.created_at), 0, 0
          FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN in_first AND in_last;
    END IF;
END//

-- Forgets up to in_batch keys. One that somebody has locked is passed by: a caller that finds its key taken keeps it locked
-- until its transaction ends.
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
        SELECT JSON_ARRAYAGG(JSON_ARRAY(HEX(d.tenant_id), HEX(d.idempotency_key))), COUNT(*) INTO v_keys, v_chosen
          FROM (SELECT k.tenant_id, k.idempotency_key FROM {key} AS k FORCE INDEX (`{queue}_key_by_time`)
                 WHERE k.created_at <= in_before ORDER BY k.created_at LIMIT v_passed, v_share) AS d;
        IF v_chosen > 0 THEN
            SELECT JSON_ARRAYAGG(JSON_ARRAY(HEX(d.tenant_id), HEX(d.idempotency_key))), COUNT(*) INTO v_keys, v_gone
              FROM (SELECT k.tenant_id, k.idempotency_key
                      FROM (SELECT UNHEX(j.a) AS a, UNHEX(j.b) AS b
                              FROM JSON_TABLE(v_keys, '$[*]' COLUMNS (a VARCHAR(2048) PATH '$[0]',
                                                                      b VARCHAR(2048) PATH '$[1]')) AS j) AS s
                      STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.tenant_id = s.a AND k.idempotency_key = s.b
                     WHERE k.created_at <= in_before FOR UPDATE SKIP LOCKED) AS d;
            IF v_gone > 0 THEN
                DELETE k
                  FROM (SELECT UNHEX(j.a) AS a, UNHEX(j.b) AS b
                          FROM JSON_TABLE(v_keys, '$[*]' COLUMNS (a VARCHAR(2048) PATH '$[0]',
                                                                  b VARCHAR(2048) PATH '$[1]')) AS j) AS s
                  STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.tenant_id = s.a AND k.idempotency_key = s.b;
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
    DECLARE v_mine, v_history, v_keys BIGINT DEFAULT 0;
    SELECT COUNT(*) INTO v_mine
      FROM (SELECT g.name FROM {gate} AS g WHERE g.name = 'purge' FOR UPDATE SKIP LOCKED) AS d;
    IF v_mine = 0 THEN
        SELECT 0 AS purged, 1 AS busy;
    ELSE
        DELETE FROM {done} WHERE processed_at <= v_at - INTERVAL in_older_us MICROSECOND
         ORDER BY processed_at LIMIT in_batch;
        SET v_history = ROW_COUNT();
        CALL {purge_keys}(v_at - INTERVAL in_window_us MICROSECOND, in_batch, v_keys);
        SELECT v_history + v_keys AS purged, 0 AS busy;
    END IF;
END//
DELIMITER ;
