-- What only the outbox does: store with a key, keep a history.

-- A message with an idempotency key, a due time, an ordering key or a low priority. The key comes first: whoever finds it
-- taken writes nothing. Its row is locked either way, so two writers of one key wait for each other; it is new while it has no
-- number yet. A trigger can refuse a row here, which fails the call; none can drop it without a word, as on other engines.
{define:procedure store_message}({declared:enqueue}, IN in_key VARBINARY(1024), IN in_due_time DATETIME(6),
                                 OUT out_seq BIGINT, OUT out_nonce BIGINT, OUT out_message_id VARBINARY(1024),
                                 OUT out_existed TINYINT)
{modifies} BEGIN
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
            INSERT INTO {waiting} (seq, created_at, available_at, due_time, {columns:enqueue})
            VALUES (out_seq, v_at, LEAST(v_due, COALESCE(in_expires_at, v_due)), in_due_time, {inputs:enqueue});
        ELSE
            INSERT INTO {live} (created_at, due_time, key_noted, {columns:enqueue})
            VALUES (v_at, in_due_time, 1, {inputs:enqueue});
            SET out_seq = LAST_INSERT_ID();
        END IF;
        IF in_key IS NOT NULL THEN
            UPDATE {key} SET seq = out_seq, nonce = in_nonce, message_id = in_message_id, created_at = v_at
             WHERE tenant_id = in_tenant_id AND idempotency_key = in_key;
        END IF;
    END IF;
END//

{define:procedure do_store}({declared:enqueue}, IN in_key VARBINARY(1024), IN in_due_time DATETIME(6))
{modifies} BEGIN
    DECLARE v_seq, v_nonce BIGINT;
    DECLARE v_message_id VARBINARY(1024);
    DECLARE v_existed TINYINT;
    CALL {store_message}({inputs:enqueue}, in_key, in_due_time, v_seq, v_nonce, v_message_id, v_existed);
    SELECT v_seq AS seq, v_nonce AS nonce, v_message_id AS message_id, v_existed AS already_existed;
END//

-- Keeps acknowledged messages as history. REPLACE: a number that a doctored database gave out twice must not keep a delivery
-- from being noted.
{define:procedure finish}(IN in_live LONGTEXT, IN in_waiting LONGTEXT, IN in_owner BINARY(16), IN in_keep TINYINT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii DEFAULT {owner_text};
    IF in_keep AND in_live IS NOT NULL THEN
        {keep} COALESCE(m.due_time, m.created_at), 0, 0, NULL
          FROM JSON_TABLE(in_live, {numbers}) AS s
          STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
    END IF;
    IF in_keep AND in_waiting IS NOT NULL THEN
        {keep} m.available_at, m.retry_count, m.lost_count, m.attempts
          FROM JSON_TABLE(in_waiting, {numbers}) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
    END IF;
END//

-- Keeps the fresh messages from in_first to in_last as history.
{define:procedure finish_run}(IN in_first BIGINT, IN in_last BIGINT, IN in_owner BINARY(16), IN in_keep TINYINT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_owner VARCHAR(36) CHARACTER SET ascii DEFAULT {owner_text};
    IF in_keep THEN
        {keep} COALESCE(m.due_time, m.created_at), 0, 0, NULL
          FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN in_first AND in_last;
    END IF;
END//
