-- Looking. One view for each table, which a query on numbers reaches by its primary key (a view over a UNION is copied
-- before it is searched), and over them the views for people and tools. An expired lease shows as ready, with its owner.

CREATE OR REPLACE VIEW {in_live} AS
SELECT m.seq, m.nonce, IF(COALESCE(l.locked_until, m.born_until) > UTC_TIMESTAMP(6), 1, 0) AS state, m.message_id,
       m.topic, m.payload, m.content_type, m.headers, m.correlation_id, m.tenant_id,
       COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key,
       m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen,
       COALESCE(m.due_time, m.created_at) AS available_at, m.occurred_at, m.due_time, m.expires_at,
       CAST(NULL AS DATETIME(6)) AS processed_at, NULL AS processed_by, m.priority, m.max_attempts, 0 AS retry_count,
       0 AS lost_count, NULL AS last_error, NULL AS dead_reason, COALESCE(l.lease_id, m.lease_id) AS lease_id,
       COALESCE(l.owner, m.owner) AS owner, COALESCE(l.locked_until, m.born_until) AS locked_until
  FROM {live} AS m
  LEFT JOIN {lease} AS l ON l.seq = m.seq;

CREATE OR REPLACE VIEW {in_waiting} AS
SELECT m.seq, m.nonce, IF(m.state = 0 AND l.locked_until > UTC_TIMESTAMP(6), 1, m.state) AS state, m.message_id,
       m.topic, m.payload, m.content_type, m.headers, m.correlation_id, m.tenant_id,
       COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key,
       m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen, m.available_at, m.occurred_at,
       m.due_time, m.expires_at, CAST(NULL AS DATETIME(6)) AS processed_at, NULL AS processed_by, m.priority,
       m.max_attempts, m.retry_count, m.lost_count, m.last_error, m.dead_reason, l.lease_id, l.owner, l.locked_until
  FROM {waiting} AS m
  LEFT JOIN {lease} AS l ON l.seq = m.seq;

CREATE OR REPLACE VIEW {in_done} AS
SELECT m.seq, m.nonce, 2 AS state, m.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id,
       m.tenant_id, COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type, m.aggregate_id,
       m.ordering_key, m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen, m.available_at,
       m.occurred_at, m.due_time, m.expires_at, m.processed_at, m.processed_by, m.priority, m.max_attempts,
       m.retry_count, m.lost_count, NULL AS last_error, NULL AS dead_reason, NULL AS lease_id, NULL AS owner,
       CAST(NULL AS DATETIME(6)) AS locked_until
  FROM {done} AS m;

CREATE OR REPLACE VIEW {view} AS
SELECT v.seq, v.nonce, v.state, v.message_id, v.topic, v.payload, v.content_type, v.headers, v.correlation_id,
       v.tenant_id, v.idempotency_key, v.aggregate_type, v.aggregate_id, v.ordering_key, v.source, v.hash,
       v.created_at, v.last_seen, v.available_at, v.occurred_at, v.due_time, v.expires_at, v.processed_at,
       v.processed_by, v.priority, v.max_attempts, v.retry_count, v.lost_count, v.last_error, v.dead_reason,
       v.lease_id, v.owner, v.locked_until,
       NULLIF(LOWER(CONCAT_WS('-', SUBSTR(HEX(v.owner), 1, 8), SUBSTR(HEX(v.owner), 9, 4), SUBSTR(HEX(v.owner), 13, 4),
                              SUBSTR(HEX(v.owner), 17, 4), SUBSTR(HEX(v.owner), 21))), '') AS owner_token,
       v.state = 2 AS is_processed, v.available_at AS next_attempt_at, v.state AS status
  FROM {in_live} AS v
UNION ALL
SELECT v.seq, v.nonce, v.state, v.message_id, v.topic, v.payload, v.content_type, v.headers, v.correlation_id,
       v.tenant_id, v.idempotency_key, v.aggregate_type, v.aggregate_id, v.ordering_key, v.source, v.hash,
       v.created_at, v.last_seen, v.available_at, v.occurred_at, v.due_time, v.expires_at, v.processed_at,
       v.processed_by, v.priority, v.max_attempts, v.retry_count, v.lost_count, v.last_error, v.dead_reason,
       v.lease_id, v.owner, v.locked_until,
       NULLIF(LOWER(CONCAT_WS('-', SUBSTR(HEX(v.owner), 1, 8), SUBSTR(HEX(v.owner), 9, 4), SUBSTR(HEX(v.owner), 13, 4),
                              SUBSTR(HEX(v.owner), 17, 4), SUBSTR(HEX(v.owner), 21))), '') AS owner_token,
       v.state = 2 AS is_processed, v.available_at AS next_attempt_at, v.state AS status
  FROM {in_waiting} AS v
UNION ALL
SELECT v.seq, v.nonce, v.state, v.message_id, v.topic, v.payload, v.content_type, v.headers, v.correlation_id,
       v.tenant_id, v.idempotency_key, v.aggregate_type, v.aggregate_id, v.ordering_key, v.source, v.hash,
       v.created_at, v.last_seen, v.available_at, v.occurred_at, v.due_time, v.expires_at, v.processed_at,
       v.processed_by, v.priority, v.max_attempts, v.retry_count, v.lost_count, v.last_error, v.dead_reason,
       v.lease_id, v.owner, v.locked_until,
       NULLIF(LOWER(CONCAT_WS('-', SUBSTR(HEX(v.owner), 1, 8), SUBSTR(HEX(v.owner), 9, 4), SUBSTR(HEX(v.owner), 13, 4),
                              SUBSTR(HEX(v.owner), 17, 4), SUBSTR(HEX(v.owner), 21))), '') AS owner_token,
       v.state = 2 AS is_processed, v.available_at AS next_attempt_at, v.state AS status
  FROM {in_done} AS v;

-- The same without the leases: nothing is in progress here.
CREATE OR REPLACE VIEW {status} AS
SELECT m.seq, m.nonce, 0 AS state, m.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id,
       m.tenant_id, COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type, m.aggregate_id,
       m.ordering_key, m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen,
       COALESCE(m.due_time, m.created_at) AS available_at, m.occurred_at, m.due_time, m.expires_at,
       CAST(NULL AS DATETIME(6)) AS processed_at, NULL AS processed_by, m.priority, m.max_attempts, 0 AS retry_count,
       0 AS lost_count, NULL AS last_error, NULL AS dead_reason,
       0 = 2 AS is_processed, COALESCE(m.due_time, m.created_at) AS next_attempt_at,
       0 AS status
  FROM {live} AS m
UNION ALL
SELECT m.seq, m.nonce, m.state, m.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id,
       m.tenant_id, COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type, m.aggregate_id,
       m.ordering_key, m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen, m.available_at,
       m.occurred_at, m.due_time, m.expires_at, CAST(NULL AS DATETIME(6)) AS processed_at, NULL AS processed_by,
       m.priority, m.max_attempts, m.retry_count, m.lost_count, m.last_error, m.dead_reason,
       m.state = 2 AS is_processed, m.available_at AS next_attempt_at,
       m.state AS status
  FROM {waiting} AS m
UNION ALL
SELECT m.seq, m.nonce, 2 AS state, m.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id,
       m.tenant_id, COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type, m.aggregate_id,
       m.ordering_key, m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen, m.available_at,
       m.occurred_at, m.due_time, m.expires_at, m.processed_at, m.processed_by, m.priority, m.max_attempts,
       m.retry_count, m.lost_count, NULL AS last_error, NULL AS dead_reason,
       2 = 2 AS is_processed, m.available_at AS next_attempt_at,
       2 AS status
  FROM {done} AS m;

DELIMITER //
-- Those of in_seqs that a lease holds, fresh ones in one result and those that waited, if there are any, in another. They are
-- found by walking the leases from the lowest number to the highest: there are few between that are not of this lease.
DROP PROCEDURE IF EXISTS {do_read}//
CREATE PROCEDURE {do_read}(IN in_lease_id BIGINT, IN in_seqs LONGTEXT)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_first, v_last, v_count BIGINT;
    SELECT MIN(s.seq), MAX(s.seq), COUNT(s.seq) INTO v_first, v_last, v_count
      FROM JSON_TABLE(in_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s;
    SELECT m.seq, m.nonce, 1 AS state, m.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id,
           m.tenant_id, COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type,
           m.aggregate_id, m.ordering_key, m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen,
           COALESCE(m.due_time, m.created_at) AS available_at, m.occurred_at, m.due_time, m.expires_at,
           CAST(NULL AS DATETIME(6)) AS processed_at, NULL AS processed_by, m.priority, m.max_attempts,
           0 AS retry_count, 0 AS lost_count, NULL AS last_error, NULL AS dead_reason, l.lease_id, l.owner,
           l.locked_until
      FROM {lease} AS l FORCE INDEX (PRIMARY)
      STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = l.seq
     WHERE l.seq BETWEEN v_first AND v_last AND l.lease_id = in_lease_id;
    IF FOUND_ROWS() < v_count THEN
        SELECT m.seq, m.nonce, 1 AS state, m.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id,
               m.tenant_id, COALESCE(m.idempotency_key, m.message_id) AS idempotency_key, m.aggregate_type,
               m.aggregate_id, m.ordering_key, m.source, m.hash, m.created_at, CAST(NULL AS DATETIME(6)) AS last_seen,
               m.available_at, m.occurred_at, m.due_time, m.expires_at, CAST(NULL AS DATETIME(6)) AS processed_at,
               NULL AS processed_by, m.priority, m.max_attempts, m.retry_count, m.lost_count, m.last_error, m.dead_reason,
               l.lease_id, l.owner, l.locked_until
          FROM {lease} AS l FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = l.seq
         WHERE l.seq BETWEEN v_first AND v_last AND l.lease_id = in_lease_id;
    END IF;
END//
DELIMITER ;
