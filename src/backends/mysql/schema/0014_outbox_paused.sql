-- Topics that an operator has paused: no relay delivers their messages until they are resumed. In no index but its key:
-- a handful of rows.
CREATE TABLE IF NOT EXISTS {paused} (
    topic     VARBINARY(1024) NOT NULL PRIMARY KEY,
    paused_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    CONSTRAINT `{queue}_paused_length`
        CHECK (CHAR_LENGTH(CONVERT(topic USING utf8mb4)) BETWEEN 1 AND 255)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
