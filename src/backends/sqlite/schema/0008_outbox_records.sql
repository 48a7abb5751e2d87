-- What operators read: when a message died and its last failed deliveries, who is at work, what operators changed. Attempts are
-- a JSON array of objects, oldest first. They lie in the row of the message and go where it goes, so that nothing has to be cleared
-- away behind it.
ALTER TABLE {waiting} ADD COLUMN died_at INTEGER;
ALTER TABLE {waiting} ADD COLUMN attempts TEXT;
ALTER TABLE {done} ADD COLUMN attempts TEXT;

-- Every dispatcher at work on either queue, in its own words: a JSON object, with times relative to last_seen in microseconds.
CREATE TABLE {worker} (
    owner     BLOB NOT NULL,
    queue     INTEGER NOT NULL,
    last_seen INTEGER NOT NULL
        DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    report    TEXT NOT NULL,
    PRIMARY KEY (owner, queue)
) STRICT, WITHOUT ROWID;

CREATE TABLE {audit} (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at INTEGER NOT NULL
        DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000),
    who         TEXT NOT NULL,
    what        TEXT NOT NULL,
    target      TEXT NOT NULL,
    affected    INTEGER NOT NULL,
    outcome     TEXT NOT NULL
) STRICT;
CREATE TRIGGER {audit_not_changed} BEFORE UPDATE ON {audit}
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only ever added to');
END;
CREATE TRIGGER {audit_not_shortened} BEFORE DELETE ON {audit}
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only ever added to');
END;
