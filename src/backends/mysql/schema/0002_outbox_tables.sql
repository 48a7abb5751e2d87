-- Fresh messages, in the order in which they were written. Rows are inserted and deleted, never changed. Anybody may write
-- here:
--     INSERT INTO outbox_live (topic, payload) VALUES ('order.placed', '{"order_id": 17}');
-- A message for later, or with an ordering key, goes through the library or the procedure: a due time here must have come
-- already. Times are UTC. Above-default priorities are negative in `urgency`, so that an index holds them in order.
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
    source          VARBINARY(1024),
    hash            VARBINARY(1024),
    content_type    VARBINARY(1024) NOT NULL DEFAULT 'application/json',
    headers         LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload         LONGBLOB NOT NULL,
    urgency         INT AS (-priority) STORED,
    KEY `{queue}_live_urgent` (urgency, seq),
    CONSTRAINT `{queue}_topic_length`
        CHECK (CHAR_LENGTH(CONVERT(topic USING utf8mb4)) BETWEEN 1 AND 255),
    CONSTRAINT `{queue}_message_id_length`
        CHECK (CHAR_LENGTH(CONVERT(message_id USING utf8mb4)) BETWEEN 1 AND 36),
    CONSTRAINT `{queue}_priority_not_low` CHECK (priority >= 0),
    CONSTRAINT `{queue}_max_attempts_positive` CHECK (max_attempts > 0),
    CONSTRAINT `{queue}_due_already` CHECK (due_time <= created_at),
    CONSTRAINT `{queue}_headers_object` CHECK (JSON_VALID(headers) AND JSON_TYPE(headers) = 'OBJECT'),
    CONSTRAINT `{queue}_ordering_key_belongs_in_waiting` CHECK (ordering_key IS NULL),
    CONSTRAINT `{queue}_born_complete` CHECK ((born_until IS NULL) = (lease_id IS NULL)
                                                  AND (born_until IS NULL) = (owner IS NULL))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Delivered messages, until they are purged.
CREATE TABLE IF NOT EXISTS {done} (
    seq             BIGINT NOT NULL PRIMARY KEY,
    nonce           BIGINT NOT NULL,
    processed_at    DATETIME(6) NOT NULL,
    processed_by    VARCHAR(36) CHARACTER SET ascii,
    priority        INT NOT NULL,
    created_at      DATETIME(6) NOT NULL,
    available_at    DATETIME(6) NOT NULL,
    retry_count     INT NOT NULL,
    lost_count      INT NOT NULL,
    max_attempts    INT,
    occurred_at     DATETIME(6),
    due_time        DATETIME(6),
    expires_at      DATETIME(6),
    message_id      VARBINARY(1024) NOT NULL,
    topic           VARBINARY(1024) NOT NULL,
    tenant_id       VARBINARY(1024) NOT NULL,
    correlation_id  VARBINARY(1024),
    idempotency_key VARBINARY(1024),
    aggregate_type  VARBINARY(1024) NOT NULL,
    aggregate_id    VARBINARY(1024),
    ordering_key    VARBINARY(1024),
    source          VARBINARY(1024),
    hash            VARBINARY(1024),
    content_type    VARBINARY(1024) NOT NULL,
    headers         LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    payload         LONGBLOB NOT NULL,
    KEY `{queue}_done_by_time` (processed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Idempotency keys given by callers. They outlive their message: a replay after the delivery is still a duplicate.
CREATE TABLE IF NOT EXISTS {key} (
    tenant_id       VARBINARY(1024) NOT NULL,
    idempotency_key VARBINARY(1024) NOT NULL,
    seq             BIGINT NOT NULL DEFAULT 0,
    nonce           BIGINT NOT NULL,
    message_id      VARBINARY(1024) NOT NULL,
    created_at      DATETIME(6) NOT NULL,
    PRIMARY KEY (tenant_id, idempotency_key),
    KEY `{queue}_key_by_time` (created_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
