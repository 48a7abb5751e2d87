-- What operators read: when a message died and its last failed deliveries, who is at work, what operators changed. Attempts are
-- a JSON array of objects, oldest first (note_attempt). They lie in the row of the message and go where it goes, so that nothing
-- has to be cleared away behind it. Columns are added at once, without rewriting a row, and only if they are missing: this file
-- may run twice. Way back: DROP the columns and the tables.
SET @postroom_change = IF((SELECT COUNT(*) FROM information_schema.COLUMNS
                             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{queue}_waiting' AND COLUMN_NAME = 'attempts') > 0,
                           'DO 0', 'ALTER TABLE {waiting} ADD COLUMN died_at DATETIME(6), ADD COLUMN attempts LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
PREPARE postroom_change FROM @postroom_change;
EXECUTE postroom_change;
DEALLOCATE PREPARE postroom_change;

SET @postroom_change = IF((SELECT COUNT(*) FROM information_schema.COLUMNS
                             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{queue}_done' AND COLUMN_NAME = 'attempts') > 0,
                           'DO 0', 'ALTER TABLE {done} ADD COLUMN attempts LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
PREPARE postroom_change FROM @postroom_change;
EXECUTE postroom_change;
DEALLOCATE PREPARE postroom_change;

-- Every dispatcher at work on either queue, in its own words: a JSON object, with times relative to last_seen in microseconds.
CREATE TABLE IF NOT EXISTS {worker} (
    owner     BINARY(16) NOT NULL,
    queue     TINYINT NOT NULL,
    last_seen DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    report    LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (owner, queue),
    KEY `{queue}_worker_seen` (last_seen)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- The library only ever adds to it; a trigger that refuses the rest would need rights that a deployment rarely has.
CREATE TABLE IF NOT EXISTS {audit} (
    id          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    recorded_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    who         TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    what        TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    target      TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    affected    BIGINT NOT NULL,
    outcome     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
