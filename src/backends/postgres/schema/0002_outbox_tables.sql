-- What only the outbox has: history and idempotency keys. Locks: none on existing tables.

ALTER DOMAIN {message_name} ADD CONSTRAINT message_id_length CHECK (char_length(VALUE) BETWEEN 1 AND 36);
-- Only what is due already is fresh.
ALTER DOMAIN {live_due} ADD CONSTRAINT due_already CHECK (VALUE <= clock_timestamp());

-- History: delivered messages, append-only. The daily partitions are made by the function history_days.
CREATE TABLE {done} (
    seq             bigint NOT NULL,
    nonce           bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    processed_at    timestamptz NOT NULL,
    available_at    timestamptz NOT NULL,
    occurred_at     timestamptz,
    due_time        timestamptz,
    expires_at      timestamptz,
    priority        integer NOT NULL,
    max_attempts    integer,
    retry_count     integer NOT NULL,
    lost_count      integer NOT NULL,
    message_id      text COLLATE "C" NOT NULL,
    topic           text COLLATE "C" NOT NULL,
    tenant_id       text COLLATE "C" NOT NULL,
    correlation_id  text,
    idempotency_key text COLLATE "C",
    aggregate_type  text COLLATE "C" NOT NULL,
    aggregate_id    text COLLATE "C",
    ordering_key    text COLLATE "C",
    content_type    text NOT NULL,
    processed_by    text,
    headers         json,
    payload         bytea NOT NULL
) PARTITION BY RANGE (processed_at);
CREATE TABLE {done_rest} PARTITION OF {done} DEFAULT;
-- Rows come nearly in order of seq, so a block index finds them and costs an insert almost nothing.
CREATE INDEX "{queue}_done_seq" ON {done} USING brin (seq) WITH (pages_per_range = 16);

-- Explicit idempotency keys. Written before the message, kept for the dedupe window.
CREATE TABLE {key} (
    tenant_id       text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    seq             bigint NOT NULL,
    nonce           bigint NOT NULL,
    message_id      text COLLATE "C" NOT NULL,
    created_at      timestamptz NOT NULL,
    CONSTRAINT "{queue}_key_pk" PRIMARY KEY (tenant_id, idempotency_key)
);
CREATE INDEX "{queue}_key_age" ON {key} USING brin (created_at) WITH (pages_per_range = 16);

-- Content of an outbox message never changes, so a claim need not lock the rows it chooses.
CREATE FUNCTION {locks_rows}() RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT false';
