-- Where the store lives, which life of it this is, and whether delivery is held because it was restored: one row.
-- Locks: none on existing tables. Way back: DROP TABLE {home}.
CREATE TABLE {home} (
    number      integer NOT NULL DEFAULT 1,
    incarnation text NOT NULL DEFAULT '',
    epoch       bigint NOT NULL DEFAULT 0,
    place       text NOT NULL DEFAULT '',
    held_since  timestamptz,
    held_why    text,
    decision    text,
    decided_at  timestamptz,
    decided_by  text,
    CONSTRAINT "{queue}_home_pk" PRIMARY KEY (number),
    CONSTRAINT one_row CHECK (number = 1)
);
INSERT INTO {home} (number) VALUES (1);
