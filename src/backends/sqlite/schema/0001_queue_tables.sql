-- Messages that are not simply next in line: deferred, retrying, lost, released, of low priority, with an ordering
-- key, dead. A row comes here with the number it had in {live} and never goes back. Only the library writes this
-- table.
-- Small columns stand first, so that reading them does not follow the overflow pages of a payload.
CREATE TABLE {waiting} (
    seq             INTEGER PRIMARY KEY,
    nonce           INTEGER NOT NULL,
    state           INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 3)),
    behind          INTEGER NOT NULL DEFAULT 0,
    frees_key       INTEGER NOT NULL DEFAULT 0,
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
    ordering_key    TEXT CHECK (ordering_key <> ''),
    source          TEXT,
    hash            BLOB,
    content_type    TEXT NOT NULL DEFAULT 'application/json',
    last_error      TEXT,
    headers         TEXT,
    payload         ANY NOT NULL,
    CHECK (frees_key = 0 OR (state = 3 AND ordering_key IS NOT NULL))
) STRICT;

-- What a claim takes, in the order in which it falls due. State, priority and ordering key are in them, at nearly no
-- cost in space, so that neither a claim nor a count has to look at the rows.
CREATE INDEX {waiting_due} ON {waiting} (available_at, seq, state, priority, ordering_key)
    WHERE state = 0 AND priority >= 0 AND ordering_key IS NULL;
CREATE INDEX {waiting_low} ON {waiting} (available_at, seq, state, priority, ordering_key)
    WHERE state = 0 AND priority < 0 AND ordering_key IS NULL;
-- Messages with an ordering key: those whose turn it is, and the line in which they stand.
CREATE INDEX {waiting_turn} ON {waiting} (available_at, seq, state, behind, ordering_key)
    WHERE state = 0 AND behind = 0 AND ordering_key IS NOT NULL;
CREATE INDEX {waiting_line} ON {waiting} (ordering_key, seq, state, frees_key)
    WHERE frees_key = 0 AND ordering_key IS NOT NULL;
-- For counting; a message that never failed pays nothing for them.
CREATE INDEX {waiting_retrying} ON {waiting} (retry_count, state) WHERE state = 0 AND retry_count > 0;
CREATE INDEX {waiting_dead} ON {waiting} (dead_reason, state) WHERE state = 3;

-- Who holds which message, of {live} or of {waiting}. Times are microseconds since 1970 everywhere.
CREATE TABLE {lease} (
    seq          INTEGER PRIMARY KEY,
    lease_id     INTEGER NOT NULL,
    locked_until INTEGER NOT NULL,
    owner        BLOB NOT NULL,
    ordering_key TEXT
) STRICT;

-- All leases of a claim end at the same time, so this finds them too as long as none is prolonged.
CREATE INDEX {lease_by_end} ON {lease} (locked_until, lease_id);
-- One message of an ordering key at a time.
CREATE UNIQUE INDEX {lease_of_key} ON {lease} (ordering_key) WHERE ordering_key IS NOT NULL;

-- Of the messages of one ordering key that are there and not dead with frees_key, all but the first are behind.
-- Whoever comes or goes keeps that true: writers take turns.
CREATE TRIGGER {waiting_gone} AFTER DELETE ON {waiting} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {waiting} SET behind = 0
    WHERE behind = 1
      AND seq = (SELECT seq FROM {waiting}
                 WHERE ordering_key = OLD.ordering_key AND frees_key = 0 ORDER BY seq LIMIT 1);
END;
CREATE TRIGGER {waiting_passed} AFTER UPDATE OF frees_key, ordering_key ON {waiting}
WHEN OLD.ordering_key IS NOT NULL
     AND (NEW.frees_key > OLD.frees_key OR NEW.ordering_key IS NOT OLD.ordering_key)
BEGIN
    UPDATE {waiting} SET behind = 0
    WHERE behind = 1
      AND seq = (SELECT seq FROM {waiting}
                 WHERE ordering_key = OLD.ordering_key AND frees_key = 0 ORDER BY seq LIMIT 1);
END;
CREATE TRIGGER {waiting_came} AFTER INSERT ON {waiting} WHEN NEW.ordering_key IS NOT NULL AND NEW.frees_key = 0
BEGIN
    UPDATE {waiting} SET behind = 1
    WHERE behind = 0
      AND seq IN ((SELECT seq FROM {waiting}
                   WHERE ordering_key = NEW.ordering_key AND frees_key = 0 AND seq > NEW.seq ORDER BY seq LIMIT 1),
                  iif(EXISTS (SELECT 1 FROM {waiting}
                              WHERE ordering_key = NEW.ordering_key AND frees_key = 0 AND seq < NEW.seq),
                      NEW.seq, NULL));
END;
CREATE TRIGGER {waiting_joined} AFTER UPDATE OF frees_key, ordering_key ON {waiting}
WHEN NEW.ordering_key IS NOT NULL AND NEW.frees_key = 0
     AND (OLD.frees_key = 1 OR NEW.ordering_key IS NOT OLD.ordering_key)
BEGIN
    UPDATE {waiting}
    SET behind = EXISTS (SELECT 1 FROM {waiting} AS b
                         WHERE b.ordering_key = NEW.ordering_key AND b.frees_key = 0 AND b.seq < NEW.seq)
    WHERE seq = NEW.seq;
    UPDATE {waiting} SET behind = 1
    WHERE behind = 0
      AND seq = (SELECT seq FROM {waiting}
                 WHERE ordering_key = NEW.ordering_key AND frees_key = 0 AND seq > NEW.seq ORDER BY seq LIMIT 1);
END;
