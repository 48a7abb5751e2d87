-- One table for each queue holds every message in every state, and changes it in place. `state`: 0 ready, 1 in progress, 2 done,
-- 3 dead, 4 seen. A message is leased while it has a lease_id; a dead one may be, by an operator who works on it. `queued` is 0
-- for messages of the inbox that are remembered without their content. `waits` is 1 for those that are not simply next in line.
-- `behind` is 1 for a message that another of its ordering key was seen before.
--
-- Texts that are compared are compared byte by byte: a binary collation, and beside the ordering key its length, because
-- blanks at the end of a text do not count in a comparison.
CREATE TABLE {message} (
    seq             BIGINT IDENTITY(1, 1) NOT NULL CONSTRAINT {queue}_message_pk PRIMARY KEY CLUSTERED,
    nonce           BIGINT NOT NULL CONSTRAINT {queue}_nonce_random DEFAULT ({random}),
    state           TINYINT NOT NULL CONSTRAINT {queue}_state_ready DEFAULT 0,
    queued          TINYINT NOT NULL CONSTRAINT {queue}_queued_yes DEFAULT 1,
    waits           TINYINT NOT NULL CONSTRAINT {queue}_waits_no DEFAULT 0,
    behind          TINYINT NOT NULL CONSTRAINT {queue}_behind_no DEFAULT 0,
    frees_key       TINYINT NOT NULL CONSTRAINT {queue}_frees_no DEFAULT 0,
    lease_id        BIGINT NULL,
    locked_until    DATETIME2(6) NULL,
    owner           BINARY(16) NULL,
    priority        INT NOT NULL CONSTRAINT {queue}_priority_normal DEFAULT 0,
    created_at      DATETIME2(6) NOT NULL CONSTRAINT {queue}_created_now DEFAULT SYSUTCDATETIME(),
    last_seen       DATETIME2(6) NULL,
    next_attempt_at DATETIME2(6) NULL,
    due_time        DATETIME2(6) NULL,
    -- The only time that a claim looks at.
    available_at    AS COALESCE(next_attempt_at, due_time, created_at) PERSISTED,
    expires_at      DATETIME2(6) NULL,
    occurred_at     DATETIME2(6) NULL,
    processed_at    DATETIME2(6) NULL,
    died_at         DATETIME2(6) NULL,
    processed_by    NVARCHAR(36) NULL,
    retry_count     INT NOT NULL CONSTRAINT {queue}_retries_none DEFAULT 0,
    lost_count      INT NOT NULL CONSTRAINT {queue}_losses_none DEFAULT 0,
    max_attempts    INT NULL,
    message_id      {text} NOT NULL CONSTRAINT {queue}_message_id_new DEFAULT ({new_message_id}),
    topic           {text} NOT NULL,
    tenant_id       {text} NOT NULL CONSTRAINT {queue}_tenant_none DEFAULT N'',
    correlation_id  {text} NULL,
    idempotency_key {text} NULL,
    aggregate_type  {text} NOT NULL CONSTRAINT {queue}_aggregate_global DEFAULT N'__GLOBAL__',
    aggregate_id    {text} NULL,
    ordering_key    {text} NULL,
    ordering_bytes  AS DATALENGTH(ordering_key) PERSISTED,
    source          {text} NULL,
    key_hash        BINARY(32) NULL,
    hash            VARBINARY(1024) NULL,
    content_type    {text} NOT NULL CONSTRAINT {queue}_content_json DEFAULT N'application/json',
    dead_reason     NVARCHAR(64) NULL,
    last_error      NVARCHAR(MAX) NULL,
    -- Its last failed deliveries: a JSON array of objects, oldest first (note_attempt).
    attempts        NVARCHAR(MAX) NULL,
    headers         NVARCHAR(MAX) NULL,
    payload         VARBINARY(MAX) NOT NULL,
    CONSTRAINT {queue}_state_known CHECK (state BETWEEN 0 AND 4),
    CONSTRAINT {queue}_topic_length CHECK ({topic_fits} OR queued = 0),
    CONSTRAINT {queue}_message_id_length CHECK ({message_id_fits}),
    CONSTRAINT {queue}_ordering_key_not_empty CHECK (DATALENGTH(ordering_key) > 0),
    CONSTRAINT {queue}_max_attempts_positive CHECK (max_attempts > 0),
    CONSTRAINT {queue}_lease_complete CHECK ((lease_id IS NULL AND locked_until IS NULL AND owner IS NULL)
        OR (lease_id IS NOT NULL AND locked_until IS NOT NULL AND owner IS NOT NULL)),
    CONSTRAINT {queue}_in_progress_leased CHECK (state <> 1 OR lease_id IS NOT NULL)
);

-- What a claim looks for: each pass walks one of these in its order and stops when it has enough.
CREATE INDEX {queue}_live_fresh ON {message} (seq) INCLUDE (priority, available_at, created_at)
    WHERE state = 0 AND queued = 1 AND waits = 0 AND ordering_key IS NULL;
CREATE INDEX {queue}_live_urgent ON {message} (priority DESC, seq) INCLUDE (available_at)
    WHERE state = 0 AND queued = 1 AND waits = 0 AND ordering_key IS NULL AND priority > 0;
CREATE INDEX {queue}_waiting_due ON {message} (available_at, seq) INCLUDE (priority)
    WHERE state = 0 AND queued = 1 AND waits = 1 AND ordering_key IS NULL;
CREATE INDEX {queue}_waiting_low ON {message} (available_at, seq)
    WHERE state = 0 AND queued = 1 AND priority < 0 AND ordering_key IS NULL;
CREATE INDEX {queue}_waiting_turn ON {message} (available_at, seq)
    WHERE state = 0 AND queued = 1 AND behind = 0 AND ordering_key IS NOT NULL;
-- The line in which the messages of an ordering key stand.
CREATE INDEX {queue}_waiting_line ON {message} (ordering_key, ordering_bytes, seq) INCLUDE (state, behind)
    WHERE queued = 1 AND frees_key = 0 AND ordering_key IS NOT NULL AND state IN (0, 1, 3);
-- All leases of a claim end at the same time, so this finds them too.
CREATE INDEX {queue}_lease_by_end ON {message} (locked_until, lease_id) WHERE lease_id IS NOT NULL;
-- For counting.
CREATE INDEX {queue}_waiting_retrying ON {message} (retry_count) INCLUDE (locked_until)
    WHERE retry_count > 0 AND queued = 1 AND state IN (0, 1);
CREATE INDEX {queue}_waiting_dead ON {message} (seq) WHERE state = 3;

-- Ordering keys that a message has left: another may be the first now. Only claims mark a message as behind, and only claims take
-- the mark off, one claim at a time; whoever settles merely leaves a note here, in the same transaction.
CREATE TABLE {turn} (
    id           BIGINT IDENTITY(1, 1) NOT NULL CONSTRAINT {queue}_turn_pk PRIMARY KEY CLUSTERED,
    ordering_key {text} NOT NULL
);
{no_escalation}
GO
