-- The tables that both queues share. Every statement of these files may run twice: MySQL commits after each statement that
-- changes the schema, so a deployment that was cut off is resumed by running its file again.

-- Messages that are not simply next in line: deferred, retrying, lost, released, of low priority, with an ordering
-- key, dead. A row comes here with the number it had in {live} and never goes back. `lane` is what a claim looks for:
-- 0 due in its time, 1 of low priority, 2 first of its ordering key, 3 behind another of its key, 4 dead. It takes the
-- place of partial indexes. Texts that are compared are bytes: case, accents and trailing blanks count.
CREATE TABLE IF NOT EXISTS {waiting} (
    seq             BIGINT NOT NULL PRIMARY KEY,
    nonce           BIGINT NOT NULL,
    state           TINYINT NOT NULL DEFAULT 0,
    behind          TINYINT NOT NULL DEFAULT 0,
    frees_key       TINYINT NOT NULL DEFAULT 0,
    priority        INT NOT NULL DEFAULT 0,
    available_at    DATETIME(6) NOT NULL,
    retry_count     INT NOT NULL DEFAULT 0,
    lost_count      INT NOT NULL DEFAULT 0,
    created_at      DATETIME(6) NOT NULL,
    max_attempts    INT,
    occurred_at     DATETIME(6),
    due_time        DATETIME(6),
    expires_at      DATETIME(6),
    dead_reason     VARCHAR(64) CHARACTER SET ascii,
    message_id      VARBINARY(1024) NOT NULL,
    topic           VARBINARY(1024) NOT NULL,
    tenant_id       VARBINARY(1024) NOT NULL DEFAULT '',
    correlation_id  VARBINARY(1024),
    idempotency_key VARBINARY(1024),
    aggregate_type  VARBINARY(1024) NOT NULL DEFAULT '__GLOBAL__',
    aggregate_id    VARBINARY(1024),
    ordering_key    VARBINARY(1024),
    source          VARBINARY(1024),
    hash            VARBINARY(1024),
    content_type    VARBINARY(1024) NOT NULL DEFAULT 'application/json',
    last_error      MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    headers         LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload         LONGBLOB NOT NULL,
    lane            TINYINT AS (CASE WHEN state = 3 THEN 4
                                     WHEN ordering_key IS NOT NULL THEN IF(behind = 1, 3, 2)
                                     WHEN priority < 0 THEN 1
                                     ELSE 0 END) STORED,
    KEY `{queue}_waiting_lane` (lane, available_at, seq),
    KEY `{queue}_waiting_line` (ordering_key, frees_key, seq),
    CONSTRAINT `{queue}_state_known` CHECK (state IN (0, 3)),
    CONSTRAINT `{queue}_waiting_attempts` CHECK (max_attempts > 0),
    CONSTRAINT `{queue}_ordering_key_not_empty` CHECK (ordering_key <> ''),
    CONSTRAINT `{queue}_frees_key_when_dead`
        CHECK (frees_key = 0 OR (state = 3 AND ordering_key IS NOT NULL))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Who holds which message, of {live} or of {waiting}. Claims and settles write here all the time, so there is no other index:
-- what is asked otherwise than by number is asked rarely, and this table is as small as what is in progress.
CREATE TABLE IF NOT EXISTS {lease} (
    seq          BIGINT NOT NULL PRIMARY KEY,
    lease_id     BIGINT NOT NULL,
    locked_until DATETIME(6) NOT NULL,
    owner        BINARY(16) NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Which message of an ordering key was leased last: while that lease stands, no other of the key is leased.
CREATE TABLE IF NOT EXISTS {key_lease} (
    ordering_key VARBINARY(1024) NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Ordering keys that a message has left: another may be the first now. Only claims mark a message as behind, and
-- only claims take the mark off, one claim at a time; whoever settles merely leaves a note here, in the same transaction.
CREATE TABLE IF NOT EXISTS {turn} (
    id           BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    ordering_key VARBINARY(1024) NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Two rows to be locked: claims take turns at one, purges at the other. That of the claims also says from where they look
-- for fresh messages: no message below `floor` was there when it was last looked for, and none below `mark` was free. No lease
-- runs out before `lease_due`.
CREATE TABLE IF NOT EXISTS {gate} (
    name         VARCHAR(8) CHARACTER SET ascii NOT NULL PRIMARY KEY,
    mark         BIGINT NOT NULL DEFAULT 1,
    floor        BIGINT NOT NULL DEFAULT 1,
    look_at      DATETIME(6) NOT NULL DEFAULT '2000-01-01',
    full_look_at DATETIME(6) NOT NULL DEFAULT '2000-01-01',
    lease_due    DATETIME(6) NOT NULL DEFAULT '2000-01-01'
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

INSERT IGNORE INTO {gate} (name) VALUES ('claim'), ('purge');
