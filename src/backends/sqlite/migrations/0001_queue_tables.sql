-- Messages that are not simply next in line: deferred, retrying, lost, released, of low priority, dead. A row
-- comes here with the number it had in {live} and never goes back. Only the library writes this table.
-- Small columns stand first, so that reading them does not follow the overflow pages of a payload.
CREATE TABLE {waiting} (
    seq             INTEGER PRIMARY KEY,
    nonce           INTEGER NOT NULL,
    state           INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 3)),
    priority        INTEGER NOT NULL DEFAULT 0,
    available_at    INTEGER NOT NULL,
    retry_count     INTEGER NOT NULL DEFAULT 0,
    lost_count      INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    max_attempts    INTEGER CHECK (max_attempts > 0),
    occurred_at     INTEGER,
    due_time        INTEGER,
    expires_at      INTEGER,
    dead_reason     TEXT,
    message_id      TEXT NOT NULL,
    topic           TEXT NOT NULL,
    tenant_id       TEXT NOT NULL DEFAULT '',
    correlation_id  TEXT,
    idempotency_key TEXT,
    aggregate_type  TEXT NOT NULL DEFAULT '__GLOBAL__',
    aggregate_id    TEXT,
    ordering_key    TEXT,
    source          TEXT,
    hash            BLOB,
    content_type    TEXT NOT NULL DEFAULT 'application/json',
    last_error      TEXT,
    headers         TEXT,
    payload         ANY NOT NULL
) STRICT;

-- What a claim takes, in the order in which it falls due. State and priority are in them, at no cost in space, so
-- that neither a claim nor a count has to look at the rows.
CREATE INDEX {waiting_due} ON {waiting} (available_at, seq, state, priority) WHERE state = 0 AND priority >= 0;
CREATE INDEX {waiting_low} ON {waiting} (available_at, seq, state, priority) WHERE state = 0 AND priority < 0;
-- For counting; a message that never failed pays nothing for them.
CREATE INDEX {waiting_retrying} ON {waiting} (retry_count, state) WHERE state = 0 AND retry_count > 0;
CREATE INDEX {waiting_dead} ON {waiting} (dead_reason, state) WHERE state = 3;

-- Who holds which message, of {live} or of {waiting}. Times are microseconds since 1970 everywhere.
CREATE TABLE {lease} (
    seq          INTEGER PRIMARY KEY,
    lease_id     INTEGER NOT NULL,
    locked_until INTEGER NOT NULL,
    owner        BLOB NOT NULL
) STRICT;

CREATE INDEX {lease_of_claim} ON {lease} (lease_id);
CREATE INDEX {lease_by_end} ON {lease} (locked_until);
