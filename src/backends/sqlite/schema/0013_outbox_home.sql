-- Where the store lives, which life of it this is, and whether delivery is held because it was restored: one row.
CREATE TABLE {home} (
    number      INTEGER PRIMARY KEY CHECK (number = 1),
    incarnation TEXT NOT NULL DEFAULT '',
    epoch       INTEGER NOT NULL DEFAULT 0,
    place       TEXT NOT NULL DEFAULT '',
    held_since  INTEGER,
    held_why    TEXT,
    decision    TEXT,
    decided_at  INTEGER,
    decided_by  TEXT
) STRICT;
INSERT INTO {home} (number) VALUES (1);
