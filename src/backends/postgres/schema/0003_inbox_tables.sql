-- What only the inbox has: the natural key. Locks: none on existing tables.

ALTER TABLE {live} ALTER COLUMN source SET NOT NULL;
ALTER TABLE {waiting} ALTER COLUMN source SET NOT NULL;
ALTER DOMAIN {message_name} ADD CONSTRAINT message_id_length CHECK (char_length(VALUE) BETWEEN 1 AND 255);
ALTER DOMAIN {source_name} ADD CONSTRAINT source_length CHECK (char_length(VALUE) BETWEEN 1 AND 255);

-- One row for each message ever seen: the memory that keeps duplicates out. While content is queued, seq names
-- it and its state is the content's; without content, state says it: 0 marked processing, 2 done, 3 dead,
-- 4 seen.
CREATE TABLE {key} (
    source       {source_name} NOT NULL,
    message_id   {message_name} NOT NULL,
    state        smallint NOT NULL,
    seq          bigint,
    nonce        bigint,
    first_seen   timestamptz NOT NULL,
    last_seen    timestamptz NOT NULL,
    processed_at timestamptz,
    topic        text COLLATE "C",
    processed_by text,
    hash         bytea,
    last_error   text,
    CONSTRAINT "{queue}_key_pk" PRIMARY KEY (source, message_id),
    CONSTRAINT state_known CHECK (state IN (0, 2, 3, 4))
) WITH (fillfactor = 80);
CREATE INDEX "{queue}_key_message" ON {key} (message_id);
CREATE INDEX "{queue}_key_purge" ON {key} (last_seen) WHERE state = 2;

-- A message that arrives again may change content that nobody holds: a claim locks the rows it chooses, and
-- skips those that are being changed.
CREATE FUNCTION {locks_rows}() RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT true';
