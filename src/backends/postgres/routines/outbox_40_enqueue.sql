-- A message with an idempotency key, a due time, an ordering key or a low priority. The key comes first: whoever finds it
-- taken writes nothing, and the transaction of the caller stays usable. No row: the database has dropped the message.
{define:function do_enqueue}({declared:enqueue}, in_key text, in_due_time timestamptz)
RETURNS TABLE (seq bigint, nonce bigint, message_id text, already_existed integer) {pinned_rows}
AS $$
#variable_conflict use_column
DECLARE
    at timestamptz := clock_timestamp();
    -- Before the number: whoever waits for the key of another must not be taken for one that has ended.
    own xid8 := CASE WHEN in_key IS NOT NULL THEN pg_current_xact_id() END;
    new_seq bigint := nextval('{number}');
BEGIN
    WHILE in_key IS NOT NULL LOOP
        INSERT INTO {key} (tenant_id, idempotency_key, seq, nonce, message_id, created_at)
        VALUES (in_tenant_id, in_key, new_seq, in_nonce, in_message_id, at)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        RETURN QUERY SELECT k.seq, k.nonce, k.message_id, 1 FROM {key} k
                      WHERE k.tenant_id = in_tenant_id AND k.idempotency_key = in_key;
        IF FOUND THEN
            RETURN;
        END IF;
        -- The key was purged between the two statements.
    END LOOP;
    IF in_due_time > at OR in_priority < 0 OR in_ordering_key IS NOT NULL THEN
        INSERT INTO {waiting} ({columns:enqueue}, seq, created_at, due_time, available_at, behind)
        VALUES ({inputs:enqueue}, new_seq, at, in_due_time, least(coalesce(in_due_time, at), in_expires_at),
                {joins_own}(in_ordering_key));
    ELSE
        INSERT INTO {live} ({columns:enqueue}, seq, created_at, due_time)
        VALUES ({inputs:enqueue}, new_seq, at, in_due_time);
    END IF;
    -- A trigger has dropped the row. Whoever repeats the message must not find its key taken.
    IF NOT FOUND THEN
        DELETE FROM {key} k
         WHERE k.tenant_id = in_tenant_id AND k.idempotency_key = in_key AND k.nonce = in_nonce;
        RETURN;
    END IF;
    RETURN QUERY SELECT new_seq, in_nonce, in_message_id, 0;
END $$;

-- The order of arguments of earlier libraries of this schema.
{define:function do_enqueue}(
    in_nonce bigint, in_message_id text, in_topic text, in_payload bytea, in_content_type text, in_headers json,
    in_correlation_id text, in_tenant_id text, in_idempotency_key text, in_aggregate_type text,
    in_aggregate_id text, in_occurred_at timestamptz, in_expires_at timestamptz, in_priority integer,
    in_ordering_key text, in_max_attempts integer, in_key text, in_due_time timestamptz)
RETURNS TABLE (seq bigint, nonce bigint, message_id text, already_existed integer) {pinned_sql}
AS $$ SELECT * FROM {do_enqueue}({inputs:enqueue}, in_key, in_due_time) $$;
