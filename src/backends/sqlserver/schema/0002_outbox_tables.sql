CREATE INDEX {queue}_done_by_time ON {message} (processed_at) WHERE state = 2;

-- Idempotency keys given by callers. They outlive their message: a replay after the delivery is still a duplicate. Two keys may be
-- longer together than an index entry, so they are found by their hash.
CREATE TABLE {key} (
    key_hash        BINARY(32) NOT NULL CONSTRAINT {queue}_key_pk PRIMARY KEY CLUSTERED,
    tenant_id       {text} NOT NULL,
    idempotency_key {text} NOT NULL,
    seq             BIGINT NOT NULL,
    nonce           BIGINT NOT NULL,
    message_id      {text} NOT NULL,
    created_at      DATETIME2(6) NOT NULL
);
CREATE INDEX {queue}_key_by_time ON {key} (created_at);

-- Topics that an operator has paused: no relay delivers their messages until they are resumed.
CREATE TABLE {paused} (
    topic_hash BINARY(32) NOT NULL CONSTRAINT {queue}_paused_pk PRIMARY KEY CLUSTERED,
    topic      {text} NOT NULL,
    paused_at  DATETIME2(6) NOT NULL CONSTRAINT {queue}_paused_now DEFAULT SYSUTCDATETIME(),
    CONSTRAINT {queue}_paused_length CHECK ({topic_fits})
);

-- Every dispatcher at work on either queue, in its own words: a JSON object, with times relative to last_seen in microseconds.
CREATE TABLE {worker} (
    owner     BINARY(16) NOT NULL,
    queue     TINYINT NOT NULL,
    last_seen DATETIME2(6) NOT NULL CONSTRAINT {queue}_worker_now DEFAULT SYSUTCDATETIME(),
    report    NVARCHAR(MAX) NOT NULL,
    CONSTRAINT {queue}_worker_pk PRIMARY KEY CLUSTERED (owner, queue)
);
CREATE INDEX {queue}_worker_seen ON {worker} (last_seen);

-- What operators have changed. The library only ever adds to it.
CREATE TABLE {audit} (
    id          BIGINT IDENTITY(1, 1) NOT NULL CONSTRAINT {queue}_audit_pk PRIMARY KEY CLUSTERED,
    recorded_at DATETIME2(6) NOT NULL CONSTRAINT {queue}_audit_now DEFAULT SYSUTCDATETIME(),
    who         NVARCHAR(MAX) NOT NULL,
    what        NVARCHAR(MAX) NOT NULL,
    target      NVARCHAR(MAX) NOT NULL,
    affected    BIGINT NOT NULL,
    outcome     NVARCHAR(MAX) NOT NULL
);
GO
