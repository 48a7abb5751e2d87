-- Where the store lives, which life of it this is, and whether delivery is held because it was restored: one row. This file may
-- run twice. Way back: DROP TABLE {home}.
CREATE TABLE IF NOT EXISTS {home} (
    number      TINYINT NOT NULL PRIMARY KEY,
    incarnation VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    epoch       BIGINT NOT NULL DEFAULT 0,
    place       VARCHAR(4000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    held_since  DATETIME(6),
    held_why    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    decision    VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    decided_at  DATETIME(6),
    decided_by  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
INSERT IGNORE INTO {home} (number) VALUES (1);
