-- Every message in every state, for people and tools. Those that are not queued have the number 0 and no payload.
-- An expired lease shows as ready, with its owner.
-- The casts give a column the same affinity in each part: without that SQLite would collect and sort everything
-- before it shows the first rows by seq.
CREATE VIEW {view} (
    seq, nonce, state, message_id, topic, payload, content_type, headers, correlation_id, tenant_id,
    idempotency_key, aggregate_type, aggregate_id, ordering_key, source, hash, created_at, last_seen,
    available_at, occurred_at, due_time, expires_at, processed_at, processed_by, priority, max_attempts,
    retry_count, lost_count, last_error, dead_reason,
    lease_id, owner, locked_until, owner_token,
    is_processed, next_attempt_at, status
) AS
SELECT m.seq, m.nonce,
       CAST(coalesce(l.locked_until, m.born_until, 0)
            > CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 AS INTEGER),
       k.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id, m.tenant_id,
       m.idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key, k.source, k.hash,
       k.first_seen, k.last_seen,
       CAST(coalesce(m.due_time, m.created_at) AS INTEGER), m.occurred_at, m.due_time, m.expires_at,
       CAST(NULL AS INTEGER), CAST(NULL AS TEXT), m.priority, m.max_attempts,
       CAST(0 AS INTEGER), CAST(0 AS INTEGER), CAST(NULL AS TEXT), CAST(NULL AS TEXT),
       CAST(coalesce(l.lease_id, m.lease_id) AS INTEGER), CAST(coalesce(l.owner, m.owner) AS BLOB),
       CAST(coalesce(l.locked_until, m.born_until) AS INTEGER),
       CAST(nullif(lower(hex(coalesce(l.owner, m.owner))), '') AS TEXT),
       CAST(0 AS INTEGER), CAST(coalesce(m.due_time, m.created_at) AS INTEGER),
       CAST(coalesce(l.locked_until, m.born_until, 0)
            > CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 AS INTEGER)
FROM {live} m
JOIN {key} k ON k.seq = m.seq AND k.source = m.source AND k.message_id = m.message_id
LEFT JOIN {lease} l ON l.seq = m.seq
UNION ALL
SELECT m.seq, m.nonce,
       CAST(CASE WHEN m.state = 0 AND l.locked_until
            > CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 THEN 1
            ELSE m.state END AS INTEGER),
       k.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id, m.tenant_id,
       m.idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key, k.source, k.hash,
       k.first_seen, k.last_seen,
       m.available_at, m.occurred_at, m.due_time, m.expires_at,
       CAST(NULL AS INTEGER), CAST(NULL AS TEXT), m.priority, m.max_attempts,
       m.retry_count, m.lost_count, m.last_error, m.dead_reason,
       l.lease_id, l.owner, l.locked_until, CAST(nullif(lower(hex(l.owner)), '') AS TEXT),
       CAST(0 AS INTEGER), m.available_at,
       CAST(CASE WHEN m.state = 0 AND l.locked_until
            > CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 THEN 1
            ELSE m.state END AS INTEGER)
FROM {waiting} m
JOIN {key} k ON k.seq = m.seq AND k.source = m.source AND k.message_id = m.message_id
LEFT JOIN {lease} l ON l.seq = m.seq
UNION ALL
SELECT CAST(0 AS INTEGER), CAST(0 AS INTEGER),
       k.state,
       k.message_id, CAST(coalesce(k.topic, '') AS TEXT), CAST(x'' AS BLOB), CAST('' AS TEXT),
       CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST('' AS TEXT), CAST(NULL AS TEXT),
       CAST('' AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS TEXT), k.source, k.hash, k.first_seen, k.last_seen,
       k.first_seen, CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), CAST(NULL AS INTEGER),
       k.processed_at, k.processed_by, CAST(0 AS INTEGER), CAST(NULL AS INTEGER),
       CAST(0 AS INTEGER), CAST(0 AS INTEGER), k.last_error, CAST(CASE WHEN k.state = 3 THEN 'failed' END AS TEXT),
       CAST(NULL AS INTEGER), CAST(NULL AS BLOB), CAST(NULL AS INTEGER), CAST(NULL AS TEXT),
       CAST(k.state = 2 AS INTEGER), k.first_seen,
       k.state
FROM {key} k
WHERE k.seq IS NULL;

-- The same without the leases: nothing is in progress here.
CREATE VIEW {status} (
    seq, nonce, state, message_id, topic, payload, content_type, headers, correlation_id, tenant_id,
    idempotency_key, aggregate_type, aggregate_id, ordering_key, source, hash, created_at, last_seen,
    available_at, occurred_at, due_time, expires_at, processed_at, processed_by, priority, max_attempts,
    retry_count, lost_count, last_error, dead_reason,
    is_processed, next_attempt_at, status
) AS
SELECT m.seq, m.nonce,
       CAST(0 AS INTEGER),
       k.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id, m.tenant_id,
       m.idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key, k.source, k.hash,
       k.first_seen, k.last_seen,
       CAST(coalesce(m.due_time, m.created_at) AS INTEGER), m.occurred_at, m.due_time, m.expires_at,
       CAST(NULL AS INTEGER), CAST(NULL AS TEXT), m.priority, m.max_attempts,
       CAST(0 AS INTEGER), CAST(0 AS INTEGER), CAST(NULL AS TEXT), CAST(NULL AS TEXT),
       CAST(0 AS INTEGER), CAST(coalesce(m.due_time, m.created_at) AS INTEGER),
       CAST(0 AS INTEGER)
FROM {live} m
JOIN {key} k ON k.seq = m.seq AND k.source = m.source AND k.message_id = m.message_id
UNION ALL
SELECT m.seq, m.nonce,
       m.state,
       k.message_id, m.topic, m.payload, m.content_type, m.headers, m.correlation_id, m.tenant_id,
       m.idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key, k.source, k.hash,
       k.first_seen, k.last_seen,
       m.available_at, m.occurred_at, m.due_time, m.expires_at,
       CAST(NULL AS INTEGER), CAST(NULL AS TEXT), m.priority, m.max_attempts,
       m.retry_count, m.lost_count, m.last_error, m.dead_reason,
       CAST(0 AS INTEGER), m.available_at,
       m.state
FROM {waiting} m
JOIN {key} k ON k.seq = m.seq AND k.source = m.source AND k.message_id = m.message_id
UNION ALL
SELECT CAST(0 AS INTEGER), CAST(0 AS INTEGER),
       k.state,
       k.message_id, CAST(coalesce(k.topic, '') AS TEXT), CAST(x'' AS BLOB), CAST('' AS TEXT),
       CAST(NULL AS TEXT), CAST(NULL AS TEXT), CAST('' AS TEXT), CAST(NULL AS TEXT),
       CAST('' AS TEXT), CAST(NULL AS TEXT), CAST(NULL AS TEXT), k.source, k.hash, k.first_seen, k.last_seen,
       k.first_seen, CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), CAST(NULL AS INTEGER),
       k.processed_at, k.processed_by, CAST(0 AS INTEGER), CAST(NULL AS INTEGER),
       CAST(0 AS INTEGER), CAST(0 AS INTEGER), k.last_error, CAST(CASE WHEN k.state = 3 THEN 'failed' END AS TEXT),
       CAST(k.state = 2 AS INTEGER), k.first_seen,
       k.state
FROM {key} k
WHERE k.seq IS NULL;
