-- Topics that an operator has paused: no relay delivers their messages until they are resumed.
-- Locks: none on existing tables. Way back: DROP TABLE {paused}.
CREATE TABLE {paused} (
    topic     text COLLATE "C" NOT NULL,
    paused_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    CONSTRAINT "{queue}_paused_pk" PRIMARY KEY (topic),
    CONSTRAINT topic_length CHECK (char_length(topic) BETWEEN 1 AND 255)
);
