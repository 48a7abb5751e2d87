-- Received messages that are next in line, in the order in which they came. Rows are inserted and deleted, never
-- changed. AUTOINCREMENT: the number of a row that went is never given to another. Each row has its key in {key}.
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
        CHECK ((length(CAST(message_id AS BLOB)) BETWEEN 1 AND 255 OR length(message_id) BETWEEN 1 AND 255)
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
    source          TEXT NOT NULL
        CHECK ((length(CAST(source AS BLOB)) BETWEEN 1 AND 255 OR length(source) BETWEEN 1 AND 255)
            AND (instr(CAST(source AS BLOB), x'00') = 0 OR instr(source, char(0)) = 0)),
    hash            BLOB,
    content_type    TEXT NOT NULL DEFAULT 'application/json',
    headers         TEXT,
    payload         ANY NOT NULL CHECK (typeof(payload) IN ('blob', 'text'))
) STRICT;

CREATE INDEX {live_urgent} ON {live} (priority DESC, seq) WHERE priority > 0;
-- Rows born leased, until they are delivered: to find those that were not in time.
CREATE INDEX {live_born} ON {live} (born_until) WHERE born_until IS NOT NULL;

-- The memory of the inbox: one row for each message ever heard of, until it is purged.
-- state: 4 seen, 0 processing (queued if it has a seq, else only marked so), 2 done, 3 dead.
-- A list of more than two behind IN would be made into a table at every write.
-- previous and mismatch tell what the latest call found; its last statement reads them back.
CREATE TABLE {key} (
    source       TEXT NOT NULL,
    message_id   TEXT NOT NULL,
    state        INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4 AND state <> 1),
    previous     INTEGER,
    mismatch     INTEGER NOT NULL DEFAULT 0,
    seq          INTEGER,
    nonce        INTEGER,
    first_seen   INTEGER NOT NULL,
    last_seen    INTEGER NOT NULL,
    processed_at INTEGER,
    processed_by TEXT,
    topic        TEXT,
    hash         BLOB,
    last_error   TEXT,
    PRIMARY KEY (source, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX {key_by_message_id} ON {key} (message_id);
CREATE INDEX {key_done} ON {key} (last_seen) WHERE state = 2;
CREATE INDEX {key_open} ON {key} (state, first_seen) WHERE state <> 2;
