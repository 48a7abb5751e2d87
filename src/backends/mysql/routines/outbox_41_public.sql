-- Enqueue for any language, in the caller's transaction. Yields the work-item id, and whether the idempotency key was used
-- before: then it is the id of the message that has it. A repeated key changes nothing and fails nothing. Times are UTC. They
-- write with the rights of whoever deployed them: a writer needs no more than the right to execute them.

-- All there is to say about a message, in a JSON object: correlation_id, due_time, tenant_id, idempotency_key, ordering_key,
-- headers, content_type, message_id, priority, max_attempts, expires_at, occurred_at, aggregate_type, aggregate_id.
{define:procedure enqueue_with}(IN topic VARBINARY(4096), IN payload LONGBLOB, IN options LONGTEXT CHARACTER SET utf8mb4)
{as_owner} BEGIN
    DECLARE v_correlation_id, v_tenant_id, v_idempotency_key, v_ordering_key, v_content_type, v_message_id, v_aggregate_type,
            v_aggregate_id VARCHAR(4096) CHARACTER SET utf8mb4;
    DECLARE v_headers LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_due_time, v_expires_at, v_occurred_at DATETIME(6);
    DECLARE v_priority, v_max_attempts, v_seq, v_nonce BIGINT;
    DECLARE v_id, v_key VARBINARY(1024);
    DECLARE v_existed TINYINT;
    {own_transaction}
    IF options IS NOT NULL AND (NOT JSON_VALID(options) OR JSON_TYPE(options) <> 'OBJECT') THEN
        CALL {refuse}('options: must be a JSON object');
    END IF;
    SELECT o.correlation_id, o.due_time, o.tenant_id, o.idempotency_key, o.ordering_key, o.content_type, o.message_id,
           o.priority, o.max_attempts, o.expires_at, o.occurred_at, COALESCE(o.aggregate_type, '__GLOBAL__'), o.aggregate_id
      INTO v_correlation_id, v_due_time, v_tenant_id, v_idempotency_key, v_ordering_key, v_content_type, v_message_id,
           v_priority, v_max_attempts, v_expires_at, v_occurred_at, v_aggregate_type, v_aggregate_id
      FROM JSON_TABLE(COALESCE(options, '{}'), '$' COLUMNS (
               correlation_id VARCHAR(4096) PATH '$.correlation_id', due_time VARCHAR(40) PATH '$.due_time',
               tenant_id VARCHAR(4096) PATH '$.tenant_id', idempotency_key VARCHAR(4096) PATH '$.idempotency_key',
               ordering_key VARCHAR(4096) PATH '$.ordering_key', content_type VARCHAR(4096) PATH '$.content_type',
               message_id VARCHAR(4096) PATH '$.message_id', priority BIGINT PATH '$.priority',
               max_attempts BIGINT PATH '$.max_attempts', expires_at VARCHAR(40) PATH '$.expires_at',
               occurred_at VARCHAR(40) PATH '$.occurred_at', aggregate_type VARCHAR(4096) PATH '$.aggregate_type',
               aggregate_id VARCHAR(4096) PATH '$.aggregate_id')) AS o;
    SET v_headers = JSON_EXTRACT(options, '$.headers');
    IF JSON_TYPE(v_headers) = 'NULL' THEN
        SET v_headers = NULL;
    END IF;
    CALL {check_text}('topic', topic, 255, TRUE);
    CALL {check_payload}(payload, v_headers);
    CALL {check_text}('correlation_id', v_correlation_id, 255, FALSE);
    CALL {check_text}('tenant_id', v_tenant_id, 255, FALSE);
    CALL {check_text}('idempotency_key', v_idempotency_key, 255, FALSE);
    CALL {check_text}('ordering_key', v_ordering_key, 255, FALSE);
    CALL {check_text}('content_type', v_content_type, 255, FALSE);
    CALL {check_text}('message_id', v_message_id, 36, FALSE);
    CALL {check_text}('aggregate_type', v_aggregate_type, 255, TRUE);
    CALL {check_text}('aggregate_id', v_aggregate_id, 255, FALSE);
    CALL {check_end}(v_max_attempts, v_due_time, v_expires_at);
    -- A message id given by the caller serves as idempotency key too.
    SET v_key = COALESCE(NULLIF(v_idempotency_key, ''), NULLIF(v_message_id, '')), v_id = NULLIF(v_message_id, '');
    CALL {begin_own}(v_own);
    CALL {store_message}({random}, COALESCE(v_id, {new_message_id}), topic, payload,
                         COALESCE(v_content_type, 'application/json'), v_headers, NULLIF(v_correlation_id, ''),
                         COALESCE(v_tenant_id, ''), v_key, v_aggregate_type, NULLIF(v_aggregate_id, ''),
                         NULLIF(v_ordering_key, ''), v_occurred_at, v_expires_at, COALESCE(v_priority, 0), v_max_attempts,
                         v_key, v_due_time, v_seq, v_nonce, v_id, v_existed);
    {commit_own}
    SELECT {item_id} AS id, v_existed AS already_existed FROM (SELECT v_seq AS seq, v_nonce AS nonce) AS m;
END//

{define:procedure enqueue}(
    IN topic VARBINARY(4096), IN payload LONGBLOB, IN correlation_id VARCHAR(4096) CHARACTER SET utf8mb4,
    IN due_time DATETIME(6), IN tenant_id VARCHAR(4096) CHARACTER SET utf8mb4,
    IN idempotency_key VARCHAR(4096) CHARACTER SET utf8mb4, IN ordering_key VARCHAR(4096) CHARACTER SET utf8mb4,
    IN headers LONGTEXT CHARACTER SET utf8mb4)
{as_owner} BEGIN
    DECLARE v_options LONGTEXT CHARACTER SET utf8mb4;
    IF headers IS NOT NULL AND NOT JSON_VALID(headers) THEN
        CALL {refuse}('headers: must be a JSON object');
    END IF;
    SET v_options = JSON_OBJECT('correlation_id', correlation_id, 'due_time', CAST(due_time AS CHAR), 'tenant_id', tenant_id,
                                'idempotency_key', idempotency_key, 'ordering_key', ordering_key,
                                'headers', JSON_EXTRACT(headers, '$'));
    CALL {enqueue_with}(topic, payload, v_options);
END//
