-- The time of the last claim, or one not long before; and while a claim follows a clock that was put back: by how much.
-- Microseconds. Locks: none on existing tables. Way back: DROP TABLE {clock}.
CREATE TABLE {clock} (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    seen INTEGER NOT NULL,
    back INTEGER NOT NULL
) STRICT;
INSERT INTO {clock} (id, seen, back) VALUES (1, 0, 0);
