-- Topics that an operator has paused: no relay delivers their messages until they are resumed.
CREATE TABLE {paused} (
    topic     TEXT PRIMARY KEY CHECK (length(topic) BETWEEN 1 AND 255 AND instr(topic, char(0)) = 0),
    paused_at INTEGER NOT NULL
        DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)
) STRICT, WITHOUT ROWID;
