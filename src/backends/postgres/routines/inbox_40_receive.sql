-- What only the inbox does: receive, see, mark. Locks are taken in the order key, message,
-- lease, so that receivers, markers and acknowledgements of one message wait for each other without a deadlock.

-- The state of a key: its own, or that of its content.
{define:function key_state}(in_key {key}) RETURNS smallint {step}
AS $$
BEGIN
    IF in_key.seq IS NULL THEN
        RETURN in_key.state;
    END IF;
    IF (SELECT l.locked_until FROM {lease} l WHERE l.seq = in_key.seq) > clock_timestamp() THEN
        RETURN 1;
    END IF;
    RETURN coalesce((SELECT w.state FROM {waiting} w WHERE w.seq = in_key.seq), 0);
END $$;

-- Locks the key and its content; no row: no such key. The content is locked before its lease is looked at: a
-- claim locks what it leases, so it has either finished or passes this message by.
{define:function lock_key}(in_source text, in_message_id text) RETURNS SETOF {key} {step}
AS $$
DECLARE
    locked {key};
BEGIN
    SELECT * INTO locked FROM {key} k WHERE k.source = in_source AND k.message_id = in_message_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF locked.seq IS NOT NULL THEN
        PERFORM FROM {live} v WHERE v.seq = locked.seq FOR UPDATE;
        IF NOT FOUND THEN
            PERFORM FROM {waiting} w WHERE w.seq = locked.seq FOR UPDATE;
        END IF;
    END IF;
    RETURN NEXT locked;
END $$;

-- What a message that arrives again keeps of its former content, which goes. Content that was dead and is to be revived
-- begins anew. available_at is that of dead content.
{define:function drop_content}(in_known {key}, in_before smallint, in_revive boolean, OUT retry_count integer,
                               OUT lost_count integer, OUT dead_reason text, OUT last_error text,
                               OUT available_at timestamptz, OUT frees_key boolean, OUT died_at timestamptz,
                               OUT attempts jsonb)
{step}
AS $$
#variable_conflict use_column
DECLARE
    is_dead CONSTANT boolean := coalesce(in_before = 3, false);
BEGIN
    retry_count := 0;
    lost_count := 0;
    frees_key := false;
    IF in_known.seq IS NULL THEN
        dead_reason := CASE WHEN is_dead AND NOT in_revive THEN 'failed' END;
        last_error := CASE WHEN is_dead AND NOT in_revive THEN in_known.last_error END;
        died_at := CASE WHEN is_dead AND NOT in_revive THEN clock_timestamp() END;
        RETURN;
    END IF;
    DELETE FROM {live} v WHERE v.seq = in_known.seq;
    IF FOUND THEN
        RETURN;
    END IF;
    IF is_dead AND in_revive THEN
        DELETE FROM {waiting} w WHERE w.seq = in_known.seq;
        RETURN;
    END IF;
    DELETE FROM {waiting} w WHERE w.seq = in_known.seq
    RETURNING w.retry_count, w.lost_count, w.dead_reason, w.last_error, w.available_at, w.frees_key, w.died_at, w.attempts
         INTO retry_count, lost_count, dead_reason, last_error, available_at, frees_key, died_at, attempts;
END $$;

-- Stores a message, or replaces content that nobody holds: the new content comes under the number of the old one.
{define:function do_receive}({declared:receive}, in_revive boolean)
RETURNS TABLE (seq bigint, nonce bigint, previous smallint, hash_mismatch integer) {pinned_rows}
AS $$
#variable_conflict use_column
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    known {key};
    before smallint;
    mismatch boolean := false;
    number bigint;
    is_dead boolean := false;
    available timestamptz := coalesce(in_due_time, at);
    former record;
BEGIN
    -- An id before the number: whoever waits for another's key must not be taken for one that has ended.
    PERFORM pg_current_xact_id();
    LOOP
        number := nextval('{number}');
        INSERT INTO {key} (source, message_id, state, seq, nonce, first_seen, last_seen, topic, hash)
        VALUES (in_source, in_message_id, 0, number, in_nonce, at, at, in_topic, in_hash)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        SELECT * INTO known FROM {lock_key}(in_source, in_message_id);
        EXIT WHEN FOUND;
        -- The key was purged between the two statements.
    END LOOP;

    IF known.source IS NOT NULL THEN
        before := {key_state}(known);
        mismatch := coalesce(in_hash <> known.hash, false);
        -- A lease that has run out counts too: its holder may still settle what it was given. A caller whose snapshot is
        -- older than this call may not see a lease that is there, so there content that could be claimed counts as leased.
        IF before = 2 OR (SELECT l.seq FROM {lease} l WHERE l.seq = known.seq) IS NOT NULL
           OR (known.seq IS NOT NULL AND before <> 3
               AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable')) THEN
            UPDATE {key} k SET last_seen = at, hash = coalesce(k.hash, in_hash)
             WHERE k.source = in_source AND k.message_id = in_message_id;
            RETURN QUERY SELECT known.seq, known.nonce, before, mismatch::integer;
            RETURN;
        END IF;
        is_dead := before = 3 AND NOT in_revive;
        IF known.seq IS NOT NULL THEN
            number := known.seq;
            in_nonce := known.nonce;
            available := greatest(in_due_time, at);
        END IF;
        UPDATE {key} k
           SET last_seen = at, hash = coalesce(in_hash, k.hash), topic = in_topic, state = 0, seq = number,
               nonce = in_nonce, last_error = CASE WHEN k.seq IS NOT NULL THEN k.last_error END
         WHERE k.source = in_source AND k.message_id = in_message_id;
    END IF;

    IF known.seq IS NULL AND NOT is_dead AND in_priority >= 0 AND coalesce(in_due_time <= at, true)
       AND in_ordering_key IS NULL THEN
        INSERT INTO {live} ({columns:receive}, seq, created_at)
        VALUES ({inputs:receive}, number, coalesce(known.first_seen, at));
    ELSE
        former := {drop_content}(known, before, in_revive);
        INSERT INTO {waiting} ({columns:receive}, seq, created_at, available_at, state, retry_count, lost_count,
                               dead_reason, last_error, died_at, attempts, behind, frees_key)
        VALUES ({inputs:receive}, number, coalesce(known.first_seen, at),
                CASE WHEN is_dead THEN coalesce(former.available_at, available) ELSE least(available, in_expires_at) END,
                CASE WHEN is_dead THEN 3 ELSE 0 END, former.retry_count, former.lost_count, former.dead_reason,
                former.last_error, former.died_at, former.attempts, known.seq IS NULL AND {joins_own}(in_ordering_key),
                former.frees_key AND in_ordering_key IS NOT NULL);
    END IF;
    RETURN QUERY SELECT number, in_nonce, before, mismatch::integer;
END $$;

-- The order of arguments of earlier libraries of this schema.
{define:function do_receive}(
    in_nonce bigint, in_source text, in_message_id text, in_topic text, in_payload bytea, in_hash bytea,
    in_content_type text, in_headers json, in_ordering_key text, in_due_time timestamptz,
    in_expires_at timestamptz, in_priority integer, in_max_attempts integer, in_revive boolean)
RETURNS TABLE (seq bigint, nonce bigint, previous smallint, hash_mismatch integer) {pinned_sql}
AS $$ SELECT * FROM {do_receive}({inputs:receive}, in_revive) $$;

{define:function do_see}(in_source text, in_message_id text, in_hash bytea)
RETURNS TABLE (previous smallint, hash_mismatch integer) {pinned_rows}
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz := clock_timestamp();
    known {key};
BEGIN
    LOOP
        INSERT INTO {key} (source, message_id, state, first_seen, last_seen, hash)
        VALUES (in_source, in_message_id, 4, at, at, in_hash)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN QUERY SELECT NULL::smallint, 0;
            RETURN;
        END IF;
        UPDATE {key} k SET last_seen = at, hash = coalesce(k.hash, in_hash)
         WHERE k.source = in_source AND k.message_id = in_message_id
        RETURNING k.* INTO known;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN QUERY SELECT {key_state}(known), coalesce(in_hash <> known.hash, false)::integer;
END $$;

{define:function do_mark}(in_source text, in_message_id text, in_state bigint, in_error text)
RETURNS SETOF smallint {pinned_rows}
AS $$
DECLARE
    at timestamptz := clock_timestamp();
    known {key};
    before smallint;
    past record;
BEGIN
    SELECT * INTO known FROM {lock_key}(in_source, in_message_id);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    before := {key_state}(known);
    RETURN NEXT before;
    IF before = 2 THEN
        RETURN;
    END IF;
    IF in_state = 2 THEN
        DELETE FROM {lease} l WHERE l.seq = known.seq;
        DELETE FROM {live} v WHERE v.seq = known.seq;
        DELETE FROM {waiting} w WHERE w.seq = known.seq RETURNING w.retry_count, w.last_error INTO past;
        UPDATE {key} k
           SET state = 2, seq = NULL, nonce = NULL, processed_at = at,
               last_error = CASE WHEN known.seq IS NULL THEN k.last_error ELSE past.last_error END
         WHERE k.source = in_source AND k.message_id = in_message_id;
        PERFORM {keep}(in_source, in_message_id, coalesce(past.retry_count, 0), NULL, NULL, NULL);
    ELSIF known.seq IS NULL THEN
        UPDATE {key} k SET state = in_state, last_error = CASE WHEN in_state = 3 THEN in_error ELSE k.last_error END
         WHERE k.source = in_source AND k.message_id = in_message_id;
    ELSIF in_state = 3 THEN
        DELETE FROM {lease} l WHERE l.seq = known.seq;
        IF {park}(ARRAY[known.seq], NULL, 3::smallint, 'failed', 0, 0, in_error) = 0 THEN
            UPDATE {waiting} w SET state = 3, dead_reason = 'failed', last_error = coalesce(in_error, w.last_error),
                   died_at = at
             WHERE w.seq = known.seq;
        END IF;
    ELSE
        DELETE FROM {lease} l WHERE l.seq = known.seq;
        -- Live content that nobody held is claimable where it is.
        IF FOUND THEN
            PERFORM {park}(ARRAY[known.seq], at, 0::smallint, NULL, 0, 0, NULL);
        END IF;
        UPDATE {waiting} w SET state = 0, available_at = at, dead_reason = NULL, behind = false, frees_key = false
         WHERE w.seq = known.seq;
    END IF;
END $$;
