-- The tables that both queues share. Locks: none on existing tables. Way back: DROP the objects named here.

-- One source of numbers for live and waiting; 58 bits fit into a work-item id.
CREATE SEQUENCE {number} AS bigint MAXVALUE 288230376151711743;

-- What a column takes, as domains: their checks are compiled once per session, those of a table with every INSERT,
-- where they cost a quarter of it. Half a born lease is harmless and has no check: claims look at born_until alone,
-- and whoever settles must know the lease_id.
CREATE DOMAIN {topic_name} AS text COLLATE "C" CONSTRAINT topic_length CHECK (char_length(VALUE) BETWEEN 1 AND 255);
CREATE DOMAIN {message_name} AS text COLLATE "C";
CREATE DOMAIN {source_name} AS text COLLATE "C";
CREATE DOMAIN {header_object} AS json CONSTRAINT headers_object CHECK (json_typeof(VALUE) = 'object');
CREATE DOMAIN {attempt_limit} AS integer CONSTRAINT max_attempts_positive CHECK (VALUE > 0);
CREATE DOMAIN {live_priority} AS integer CONSTRAINT priority_not_low CHECK (VALUE >= 0);
CREATE DOMAIN {live_due} AS timestamptz;
CREATE DOMAIN {live_key} AS text COLLATE "C" CONSTRAINT ordering_key_belongs_in_waiting CHECK (VALUE IS NULL);

-- Fresh messages. Rows are only ever inserted and deleted: a claim writes a lease, never the message.
-- A plain INSERT (topic, payload) works: everything else has a default. Where NULL stands for it, that is because what is the
-- same in nearly every row is a twelfth of what a message adds to the log.
CREATE TABLE {live} (
    seq             bigint NOT NULL DEFAULT nextval('{number}'),
    nonce           bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0),
    created_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    lease_id        bigint,
    born_until      timestamptz,
    occurred_at     timestamptz,
    due_time        {live_due},
    expires_at      timestamptz,
    owner           uuid,
    priority        {live_priority},  -- NULL: 0
    max_attempts    {attempt_limit},
    message_id      {message_name} NOT NULL DEFAULT gen_random_uuid()::text,
    topic           {topic_name} NOT NULL,
    tenant_id       text COLLATE "C" NOT NULL DEFAULT '',
    correlation_id  text,
    idempotency_key text COLLATE "C",
    aggregate_type  text COLLATE "C",  -- NULL: '__GLOBAL__'
    aggregate_id    text COLLATE "C",
    ordering_key    {live_key},
    source          {source_name},
    hash            bytea,
    content_type    text,  -- NULL: 'application/json'
    headers         {header_object},
    payload         bytea NOT NULL,
    CONSTRAINT "{queue}_live_pk" PRIMARY KEY (seq)
);
CREATE INDEX "{queue}_live_urgent" ON {live} (priority DESC, seq) WHERE priority > 0;

-- Everything exceptional: deferred, retrying, lost, released, low priority, dead; and every message with an
-- ordering key, from its birth. Those of one key go one at a time, in order of seq. The first that is there, and
-- is not dead with frees_key, is the one that may go; `behind` marks those of which a claim knows that they are
-- not, so that it need not look at them again.
CREATE TABLE {waiting} (
    seq             bigint NOT NULL DEFAULT nextval('{number}'),
    nonce           bigint NOT NULL DEFAULT hashtextextended(gen_random_uuid()::text, 0),
    created_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    available_at    timestamptz NOT NULL DEFAULT statement_timestamp(),
    occurred_at     timestamptz,
    due_time        timestamptz,
    expires_at      timestamptz,
    priority        integer NOT NULL DEFAULT 0,
    max_attempts    {attempt_limit},
    retry_count     integer NOT NULL DEFAULT 0,
    lost_count      integer NOT NULL DEFAULT 0,
    state           smallint NOT NULL DEFAULT 0,
    behind          boolean NOT NULL DEFAULT false,
    frees_key       boolean NOT NULL DEFAULT false,
    message_id      {message_name} NOT NULL DEFAULT gen_random_uuid()::text,
    topic           {topic_name} NOT NULL,
    tenant_id       text COLLATE "C" NOT NULL DEFAULT '',
    correlation_id  text,
    idempotency_key text COLLATE "C",
    aggregate_type  text COLLATE "C" NOT NULL DEFAULT '__GLOBAL__',
    aggregate_id    text COLLATE "C",
    ordering_key    text COLLATE "C",
    source          {source_name},
    hash            bytea,
    content_type    text NOT NULL DEFAULT 'application/json',
    dead_reason     text,
    last_error      text,
    headers         {header_object},
    payload         bytea NOT NULL,
    CONSTRAINT "{queue}_waiting_pk" PRIMARY KEY (seq),
    CONSTRAINT state_known CHECK (state IN (0, 3)),
    CONSTRAINT ordering_key_not_empty CHECK (ordering_key <> ''),
    CONSTRAINT frees_key_when_dead CHECK (NOT frees_key OR (state = 3 AND ordering_key IS NOT NULL))
);
CREATE INDEX "{queue}_waiting_due" ON {waiting} (available_at, seq)
    WHERE state = 0 AND priority >= 0 AND ordering_key IS NULL;
CREATE INDEX "{queue}_waiting_low" ON {waiting} (available_at, seq)
    WHERE state = 0 AND priority < 0 AND ordering_key IS NULL;
-- Of those with an ordering key: which may go, and which stand in line.
CREATE INDEX "{queue}_waiting_turn" ON {waiting} (available_at, seq)
    WHERE state = 0 AND ordering_key IS NOT NULL AND NOT behind;
CREATE INDEX "{queue}_waiting_line" ON {waiting} (ordering_key, seq)
    WHERE ordering_key IS NOT NULL AND NOT frees_key;

-- Ordering keys that a message has left: another may be the first now. Only claims mark a message as behind, and
-- only claims take the mark off, one claim at a time; whoever settles merely leaves a note here. So a settle waits
-- for nobody, whatever the isolation level of its transaction.
CREATE TABLE {turn} (
    id           bigint GENERATED ALWAYS AS IDENTITY,
    ordering_key text COLLATE "C" NOT NULL,
    CONSTRAINT "{queue}_turn_pk" PRIMARY KEY (id)
);

CREATE FUNCTION {note_turn}() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO {turn} (ordering_key) VALUES (OLD.ordering_key);
    RETURN NULL;
END $$;
CREATE TRIGGER "{queue}_waiting_gone" AFTER DELETE ON {waiting}
    FOR EACH ROW WHEN (OLD.ordering_key IS NOT NULL) EXECUTE FUNCTION {note_turn}();
CREATE TRIGGER "{queue}_waiting_passed" AFTER UPDATE OF frees_key, ordering_key ON {waiting}
    FOR EACH ROW WHEN (OLD.ordering_key IS NOT NULL
                       AND (NEW.frees_key OR NEW.ordering_key IS DISTINCT FROM OLD.ordering_key))
    EXECUTE FUNCTION {note_turn}();

-- Leases of claims. Unlogged: a claim writes no WAL and waits for no flush. After a crash or a fail-over the
-- table is empty, and every message is claimable again; those with an ordering key once all lost leases are over.
CREATE UNLOGGED TABLE {lease} (
    seq          bigint NOT NULL,
    lease_id     bigint NOT NULL,
    locked_until timestamptz NOT NULL,
    owner        uuid NOT NULL,
    ordering_key text COLLATE "C",
    CONSTRAINT "{queue}_lease_pk" PRIMARY KEY (seq)
);
CREATE INDEX "{queue}_lease_by_id" ON {lease} (lease_id);
-- One message of a key at a time.
CREATE UNIQUE INDEX "{queue}_lease_key" ON {lease} (ordering_key) WHERE ordering_key IS NOT NULL;

-- Shared notes of all claimers, as unlogged sequences: setval() leaves no dead versions behind, costs no WAL,
-- and a crash resets them together with the leases, so that they never disagree. Times are milliseconds.
CREATE UNLOGGED SEQUENCE {mark};         -- claims look for fresh messages from here
CREATE UNLOGGED SEQUENCE {floor};        -- no number below can become claimable any more
CREATE UNLOGGED SEQUENCE {next_tick};    -- last number handed out at the last look
CREATE UNLOGGED SEQUENCE {tick_number};  -- the same at the look before, and ...
CREATE UNLOGGED SEQUENCE {tick_xid};     -- ... the transaction id later: once all older ones ended, it is final
CREATE UNLOGGED SEQUENCE {born_mark};    -- no message born leased below
CREATE UNLOGGED SEQUENCE {born_walk};    -- from here on they are looked for next
CREATE UNLOGGED SEQUENCE {born_lap};     -- 2: the next time round from the first number on
CREATE UNLOGGED SEQUENCE {look_at};      -- when to look for late commits and expired leases next
CREATE UNLOGGED SEQUENCE {full_look_at}; -- when to do so from the first number on
CREATE UNLOGGED SEQUENCE {lease_due};    -- no lease runs out before
-- From when on messages with an ordering key are claimed. Without a value the leases were lost: a handler may still
-- be at work on the first of a key, and the next one must not overtake it.
CREATE UNLOGGED SEQUENCE {ordered_from};
SELECT setval('{ordered_from}', 1);
CREATE SEQUENCE {longest_lease};         -- of all claims; survives a crash
