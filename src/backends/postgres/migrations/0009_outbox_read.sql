-- Reading the outbox: the messages of a lease, and views for people and tools.

-- The messages that a lease holds, in the columns and the order in which the library reads them; those that go
-- first come first.
CREATE FUNCTION {do_read}(in_lease_id bigint) RETURNS TABLE (
    seq bigint, nonce bigint, state smallint, message_id text, topic text, payload bytea, content_type text,
    headers text, correlation_id text, tenant_id text, idempotency_key text, aggregate_type text,
    aggregate_id text, ordering_key text, source text, hash bytea, created_at timestamptz,
    last_seen timestamptz, available_at timestamptz, occurred_at timestamptz, due_time timestamptz,
    expires_at timestamptz, processed_at timestamptz, processed_by text, priority integer,
    max_attempts integer, retry_count integer, lost_count integer, last_error text, dead_reason text,
    lease_id bigint, owner uuid, locked_until timestamptz)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    held bigint[];
    holder uuid;
    any_urgent boolean;
    ends timestamptz;  -- all of them were leased by one claim; the earliest, should they differ
    first_seq bigint;
    last_seq bigint;
    starts bigint[];
    stops bigint[];
    urgent bigint[] := '{}';
    plain_rows bigint;
    urgent_rows bigint := 0;
BEGIN
    SELECT array_agg(l.seq), min(l.locked_until), min(l.seq), max(l.seq) INTO held, ends, first_seq, last_seq
      FROM {lease} l WHERE l.lease_id = in_lease_id;
    IF held IS NULL THEN
        RETURN;
    END IF;
    -- Mostly the numbers are one run, and one search finds them all.
    IF last_seq - first_seq + 1 = cardinality(held) THEN
        starts := ARRAY[first_seq];
        stops := ARRAY[last_seq];
    ELSE
        starts := held;
        stops := held;
    END IF;
    SELECT (SELECT l.owner FROM {lease} l WHERE l.seq = held[1]),
           (SELECT v.seq FROM {live} v WHERE v.priority > 0 LIMIT 1) IS NOT NULL
      INTO holder, any_urgent;
    IF any_urgent THEN
        urgent := ARRAY(SELECT v.seq FROM {live} v WHERE v.seq = ANY (held) AND v.priority > 0);
    END IF;
    IF cardinality(urgent) > 0 THEN
        RETURN QUERY
        SELECT v.seq, v.nonce, 1::smallint, v.message_id::text, v.topic::text, v.payload, coalesce(v.content_type, 'application/json'),
               v.headers::text, v.correlation_id, v.tenant_id, coalesce(v.idempotency_key, v.message_id),
               coalesce(v.aggregate_type, '__GLOBAL__'), v.aggregate_id, v.ordering_key::text, v.source::text, v.hash, v.created_at,
               NULL::timestamptz, coalesce(v.due_time, v.created_at), v.occurred_at, v.due_time::timestamptz,
               v.expires_at, NULL::timestamptz, NULL::text, coalesce(v.priority::integer, 0), v.max_attempts::integer, 0, 0, NULL::text,
               NULL::text, in_lease_id, holder, ends
          FROM {live} v
         WHERE v.seq = ANY (urgent) ORDER BY v.priority DESC, v.seq;
        GET DIAGNOSTICS urgent_rows = ROW_COUNT;
    END IF;
    RETURN QUERY
    SELECT v.seq, v.nonce, 1::smallint, v.message_id::text, v.topic::text, v.payload, coalesce(v.content_type, 'application/json'), v.headers::text,
           v.correlation_id, v.tenant_id, coalesce(v.idempotency_key, v.message_id), coalesce(v.aggregate_type, '__GLOBAL__'),
           v.aggregate_id, v.ordering_key::text, v.source::text, v.hash, v.created_at, NULL::timestamptz,
           coalesce(v.due_time, v.created_at), v.occurred_at, v.due_time::timestamptz, v.expires_at, NULL::timestamptz,
           NULL::text, coalesce(v.priority::integer, 0), v.max_attempts::integer, 0, 0, NULL::text, NULL::text, in_lease_id, holder,
           ends
      FROM unnest(starts, stops) AS run (first, last),
           LATERAL (SELECT * FROM {live} f WHERE f.seq >= run.first AND f.seq <= run.last OFFSET 0) v
     WHERE v.seq <> ALL (urgent);
    GET DIAGNOSTICS plain_rows = ROW_COUNT;
    IF urgent_rows + plain_rows = cardinality(held) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT w.seq, w.nonce, 1::smallint, w.message_id::text, w.topic::text, w.payload, w.content_type, w.headers::text,
           w.correlation_id, w.tenant_id, coalesce(w.idempotency_key, w.message_id), w.aggregate_type,
           w.aggregate_id, w.ordering_key::text, w.source::text, w.hash, w.created_at, NULL::timestamptz,
           w.available_at, w.occurred_at, w.due_time::timestamptz, w.expires_at, NULL::timestamptz, NULL::text,
           w.priority::integer, w.max_attempts::integer, w.retry_count, w.lost_count, w.last_error, w.dead_reason,
           in_lease_id, holder, ends
      FROM {waiting} w
     WHERE w.seq = ANY (held);
END $$;

-- Every message in every state.
CREATE VIEW {view} AS
SELECT m.seq, m.nonce, m.state, m.message_id, m.topic, m.payload, m.content_type, m.headers,
       m.correlation_id, m.tenant_id, m.idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key,
       m.source, m.hash, m.created_at, m.last_seen, m.available_at, m.occurred_at, m.due_time, m.expires_at,
       m.processed_at, m.processed_by, m.priority, m.max_attempts, m.retry_count, m.lost_count,
       m.last_error, m.dead_reason, m.lease_id, m.owner, m.locked_until,
       {item_id}(m.seq, m.nonce) AS id, m.state = 2 AS is_processed, m.owner AS owner_token, 
       m.available_at AS next_attempt_at, m.state AS status
  FROM (
    SELECT v.seq, v.nonce,
           (CASE WHEN coalesce(l.locked_until, v.born_until) > statement_timestamp() THEN 1 ELSE 0 END)::smallint AS state,
           v.message_id, v.topic, v.payload, coalesce(v.content_type, 'application/json') AS content_type, v.headers::text AS headers, v.correlation_id,
           v.tenant_id, coalesce(v.idempotency_key, v.message_id) AS idempotency_key, coalesce(v.aggregate_type, '__GLOBAL__') AS aggregate_type,
           v.aggregate_id, v.ordering_key, v.source, v.hash, v.created_at, NULL::timestamptz AS last_seen,
           coalesce(v.due_time, v.created_at) AS available_at, v.occurred_at, v.due_time, v.expires_at,
           NULL::timestamptz AS processed_at, NULL::text AS processed_by, coalesce(v.priority::integer, 0) AS priority, v.max_attempts,
           0 AS retry_count, 0 AS lost_count, NULL::text AS last_error, NULL::text AS dead_reason,
           coalesce(l.lease_id, v.lease_id) AS lease_id, coalesce(l.owner, v.owner) AS owner,
           coalesce(l.locked_until, v.born_until) AS locked_until
      FROM {live} v
           LEFT JOIN {lease} l ON l.seq = v.seq
    UNION ALL
    SELECT w.seq, w.nonce,
           (CASE WHEN l.locked_until > statement_timestamp() THEN 1 ELSE w.state END)::smallint AS state,
           w.message_id, w.topic, w.payload, w.content_type, w.headers::text AS headers, w.correlation_id,
           w.tenant_id, coalesce(w.idempotency_key, w.message_id) AS idempotency_key, w.aggregate_type,
           w.aggregate_id, w.ordering_key, w.source, w.hash, w.created_at, NULL::timestamptz AS last_seen,
           w.available_at, w.occurred_at, w.due_time, w.expires_at, NULL::timestamptz AS processed_at,
           NULL::text AS processed_by, w.priority, w.max_attempts, w.retry_count, w.lost_count,
           w.last_error, w.dead_reason, l.lease_id, l.owner, l.locked_until
      FROM {waiting} w
           LEFT JOIN {lease} l ON l.seq = w.seq
    UNION ALL
    SELECT d.seq, d.nonce, 2::smallint AS state, d.message_id, d.topic, d.payload, d.content_type,
           d.headers::text AS headers, d.correlation_id, d.tenant_id,
           coalesce(d.idempotency_key, d.message_id) AS idempotency_key, d.aggregate_type, d.aggregate_id,
           d.ordering_key, NULL::text AS source, NULL::bytea AS hash, d.created_at,
           NULL::timestamptz AS last_seen, d.available_at, d.occurred_at, d.due_time, d.expires_at,
           d.processed_at, d.processed_by, d.priority, d.max_attempts, d.retry_count, d.lost_count,
           NULL::text AS last_error, NULL::text AS dead_reason, NULL::bigint AS lease_id,
           NULL::uuid AS owner, NULL::timestamptz AS locked_until
      FROM {done} d
  ) m;

-- The same without the leases, for standby servers: an unlogged table cannot be read there.
CREATE VIEW {status} AS
SELECT m.seq, m.nonce, m.state, m.message_id, m.topic, m.payload, m.content_type, m.headers,
       m.correlation_id, m.tenant_id, m.idempotency_key, m.aggregate_type, m.aggregate_id, m.ordering_key,
       m.source, m.hash, m.created_at, m.last_seen, m.available_at, m.occurred_at, m.due_time, m.expires_at,
       m.processed_at, m.processed_by, m.priority, m.max_attempts, m.retry_count, m.lost_count,
       m.last_error, m.dead_reason,
       {item_id}(m.seq, m.nonce) AS id, m.state = 2 AS is_processed, 
       m.available_at AS next_attempt_at, m.state AS status
  FROM (
    SELECT v.seq, v.nonce,
           (CASE WHEN v.born_until > statement_timestamp() THEN 1 ELSE 0 END)::smallint AS state,
           v.message_id, v.topic, v.payload, coalesce(v.content_type, 'application/json') AS content_type, v.headers::text AS headers, v.correlation_id,
           v.tenant_id, coalesce(v.idempotency_key, v.message_id) AS idempotency_key, coalesce(v.aggregate_type, '__GLOBAL__') AS aggregate_type,
           v.aggregate_id, v.ordering_key, v.source, v.hash, v.created_at, NULL::timestamptz AS last_seen,
           coalesce(v.due_time, v.created_at) AS available_at, v.occurred_at, v.due_time, v.expires_at,
           NULL::timestamptz AS processed_at, NULL::text AS processed_by, coalesce(v.priority::integer, 0) AS priority, v.max_attempts,
           0 AS retry_count, 0 AS lost_count, NULL::text AS last_error, NULL::text AS dead_reason
      FROM {live} v
    UNION ALL
    SELECT w.seq, w.nonce, w.state, w.message_id, w.topic, w.payload, w.content_type,
           w.headers::text AS headers, w.correlation_id, w.tenant_id,
           coalesce(w.idempotency_key, w.message_id) AS idempotency_key, w.aggregate_type, w.aggregate_id,
           w.ordering_key, w.source, w.hash, w.created_at, NULL::timestamptz AS last_seen, w.available_at,
           w.occurred_at, w.due_time, w.expires_at, NULL::timestamptz AS processed_at,
           NULL::text AS processed_by, w.priority, w.max_attempts, w.retry_count, w.lost_count,
           w.last_error, w.dead_reason
      FROM {waiting} w
    UNION ALL
    SELECT d.seq, d.nonce, 2::smallint AS state, d.message_id, d.topic, d.payload, d.content_type,
           d.headers::text AS headers, d.correlation_id, d.tenant_id,
           coalesce(d.idempotency_key, d.message_id) AS idempotency_key, d.aggregate_type, d.aggregate_id,
           d.ordering_key, NULL::text AS source, NULL::bytea AS hash, d.created_at,
           NULL::timestamptz AS last_seen, d.available_at, d.occurred_at, d.due_time, d.expires_at,
           d.processed_at, d.processed_by, d.priority, d.max_attempts, d.retry_count, d.lost_count,
           NULL::text AS last_error, NULL::text AS dead_reason
      FROM {done} d
  ) m;
