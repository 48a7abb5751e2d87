-- Fresh messages, in the order in which they were received. As in the outbox; only the library and the procedures write here,
-- since every message needs its row in {key}.
CREATE TABLE IF NOT EXISTS {live} (
    seq             BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    nonce           BIGINT NOT NULL
        DEFAULT (CAST(CONV(SUBSTR(SHA2(CONCAT(UUID(), RAND()), 256), 1, 16), 16, -10) AS SIGNED)),
    born_until      DATETIME(6),
    lease_id        BIGINT,
    owner           BINARY(16),
    priority        INT NOT NULL DEFAULT 0,
    created_at      DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    max_attempts    INT,
    occurred_at     DATETIME(6),
    due_time        DATETIME(6),
    expires_at      DATETIME(6),
    message_id      VARBINARY(1024) NOT NULL DEFAULT (UUID()),
    topic           VARBINARY(1024) NOT NULL,
    tenant_id       VARBINARY(1024) NOT NULL DEFAULT '',
    correlation_id  VARBINARY(1024),
    idempotency_key VARBINARY(1024),
    aggregate_type  VARBINARY(1024) NOT NULL DEFAULT '__GLOBAL__',
    aggregate_id    VARBINARY(1024),
    ordering_key    VARBINARY(1024),
    source          VARBINARY(1024) NOT NULL,
    hash            VARBINARY(1024),
    content_type    VARBINARY(1024) NOT NULL DEFAULT 'application/json',
    headers         LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload         LONGBLOB NOT NULL,
    urgency         INT AS (-priority) STORED,
    KEY `{queue}_live_urgent` (urgency, seq),
    CONSTRAINT `{queue}_topic_length`
        CHECK (CHAR_LENGTH(CONVERT(topic USING utf8mb4)) BETWEEN 1 AND 255),
    CONSTRAINT `{queue}_message_id_length`
        CHECK (CHAR_LENGTH(CONVERT(message_id USING utf8mb4)) BETWEEN 1 AND 255),
    CONSTRAINT `{queue}_priority_not_low` CHECK (priority >= 0),
    CONSTRAINT `{queue}_max_attempts_positive` CHECK (max_attempts > 0),
    CONSTRAINT `{queue}_due_already` CHECK (due_time <= created_at),
    CONSTRAINT `{queue}_headers_object` CHECK (JSON_VALID(headers) AND JSON_TYPE(headers) = 'OBJECT'),
    CONSTRAINT `{queue}_ordering_key_belongs_in_waiting` CHECK (ordering_key IS NULL),
    CONSTRAINT `{queue}_born_complete` CHECK ((born_until IS NULL) = (lease_id IS NULL)
                                                  AND (born_until IS NULL) = (owner IS NULL))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- The memory of the inbox: one row for each message ever heard of, until it is purged.
-- state: 4 seen, 0 processing (queued if it has a seq, else only marked so), 2 done, 3 dead. Of a queued message the state
-- of its content counts. The nonce of a new row also tells its writer that it was the first.
CREATE TABLE IF NOT EXISTS {key} (
    source       VARBINARY(1024) NOT NULL,
    message_id   VARBINARY(1024) NOT NULL,
    state        TINYINT NOT NULL,
    seq          BIGINT,
    nonce        BIGINT,
    first_seen   DATETIME(6) NOT NULL,
    last_seen    DATETIME(6) NOT NULL,
    processed_at DATETIME(6),
    processed_by VARCHAR(36) CHARACTER SET ascii,
    topic        VARBINARY(1024),
    hash         VARBINARY(1024),
    last_error   MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (source, message_id),
    KEY `{queue}_key_by_message_id` (message_id),
    KEY `{queue}_key_by_state` (state, last_seen),
    CONSTRAINT `{queue}_key_state_known` CHECK (state IN (0, 2, 3, 4))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
