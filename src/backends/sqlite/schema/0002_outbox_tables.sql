-- Fresh messages, in the order in which they were written. Rows are inserted and deleted, never changed.
-- AUTOINCREMENT: the number of a row that went is never given to another. Anybody may write here:
--     INSERT INTO {live} (topic, payload) VALUES ('order.placed', '{"order_id": 17}');
-- A message for later, or with an ordering key, goes through the library: a due time here must have come already.
-- The CHECKs look at bytes first: to count characters, or to search a text, SQLite makes a copy of it.
CREATE TABLE {live} (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    nonce           INTEGER NOT NULL DEFAULT (random()),
    born_until      INTEGER,
    lease_id        INTEGER,
    owner           BLOB,
    priority        INTEGER NOT NULL DEFAULT 0 CHECK (priority >= 0),
    created_at      INTEGER NOT NULL
        DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    max_attempts    INTEGER CHECK (max_attempts > 0),
    occurred_at     INTEGER,
    due_time        INTEGER CHECK (due_time IS NULL OR due_time <= created_at),
    expires_at      INTEGER,
    message_id      TEXT NOT NULL
        DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)
            || '-' || substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2)
            || '-' || hex(randomblob(6))))
        CHECK ((length(CAST(message_id AS BLOB)) BETWEEN 1 AND 36 OR length(message_id) BETWEEN 1 AND 36)
            AND (instr(CAST(message_id AS BLOB), x'00') = 0 OR instr(message_id, char(0)) = 0)),
    topic           TEXT NOT NULL
        CHECK ((length(CAST(topic AS BLOB)) BETWEEN 1 AND 255 OR length(topic) BETWEEN 1 AND 255)
            AND (instr(CAST(topic AS BLOB), x'00') = 0 OR instr(topic, char(0)) = 0)),
    tenant_id       TEXT NOT NULL DEFAULT '',
    correlation_id  TEXT,
    idempotency_key TEXT,
    aggregate_type  TEXT NOT NULL DEFAULT '__GLOBAL__',
    aggregate_id    TEXT,
    ordering_key    TEXT CONSTRAINT ordering_key_belongs_in_waiting CHECK (ordering_key IS NULL),
    source          TEXT CHECK (source IS NULL),
    hash            BLOB,
    content_type    TEXT NOT NULL DEFAULT 'application/json',
    headers         TEXT,
    payload         ANY NOT NULL CHECK (typeof(payload) IN ('blob', 'text'))
) STRICT;

CREATE INDEX {live_urgent} ON {live} (priority DESC, seq) WHERE priority > 0;
-- Rows born leased, until they are delivered: to find those that were not in time.
CREATE INDEX {live_born} ON {live} (born_until) WHERE born_until IS NOT NULL;

-- Delivered messages, until they are purged.
CREATE TABLE {done} (
    seq             INTEGER PRIMARY KEY,
    nonce           INTEGER NOT NULL,
    processed_at    INTEGER NOT NULL,
    processed_by    TEXT,
    priority        INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    retry_count     INTEGER NOT NULL,
    lost_count      INTEGER NOT NULL,
    max_attempts    INTEGER,
    occurred_at     INTEGER,
    due_time        INTEGER,
    expires_at      INTEGER,
    message_id      TEXT NOT NULL,
    topic           TEXT NOT NULL,
    tenant_id       TEXT NOT NULL,
    correlation_id  TEXT,
    idempotency_key TEXT,
    aggregate_type  TEXT NOT NULL,
    aggregate_id    TEXT,
    ordering_key    TEXT,
    source          TEXT,
    hash            BLOB,
    content_type    TEXT NOT NULL,
    headers         TEXT,
    payload         ANY NOT NULL
) STRICT;

CREATE INDEX {done_by_time} ON {done} (processed_at);

-- Idempotency keys given by callers. They outlive their message: a replay after the delivery is still a duplicate.
CREATE TABLE {key} (
    tenant_id       TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    seq             INTEGER NOT NULL DEFAULT 0,
    nonce           INTEGER NOT NULL,
    message_id      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, idempotency_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX {key_by_time} ON {key} (created_at);
