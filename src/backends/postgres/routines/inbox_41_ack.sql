-- Acknowledging in the inbox, and its purge.

-- Notes what stays known of a message that is done, if there is anything.
{define:function keep}(in_source text, in_message_id text, in_retry_count integer, in_content_type text, in_headers json,
                       in_payload bytea)
RETURNS void {step}
AS $$
BEGIN
    IF in_retry_count > 0 OR in_payload IS NOT NULL THEN
        -- A row whose key was removed by hand may be there.
        INSERT INTO {kept} AS c (source, message_id, retry_count, content_type, headers, payload)
        VALUES (in_source, in_message_id, in_retry_count, in_content_type, in_headers, in_payload)
        ON CONFLICT (source, message_id) DO UPDATE
           SET retry_count = excluded.retry_count, content_type = excluded.content_type, headers = excluded.headers,
               payload = excluded.payload;
    END IF;
END $$;

-- A mark that a message is done keeps duplicates out: it is never relaxed.
{define:function do_ack}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid, in_keep boolean,
                         in_relaxed boolean DEFAULT false)
RETURNS SETOF bigint {pinned}
AS $$
DECLARE
    at timestamptz := clock_timestamp();
    item record;
    past record;
BEGIN
    -- Keys first, in one order for everybody.
    FOR item IN
        SELECT m.source, m.message_id, m.seq
          FROM (SELECT v.source, v.message_id, v.seq FROM {live} v
                 WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces)
                UNION ALL
                SELECT w.source, w.message_id, w.seq FROM {waiting} w
                 WHERE w.seq = ANY (in_seqs) AND w.nonce = ANY (in_nonces)) m
         ORDER BY m.source, m.message_id
    LOOP
        PERFORM FROM {key} k WHERE k.source = item.source AND k.message_id = item.message_id FOR UPDATE;
        DELETE FROM {lease} l WHERE l.seq = item.seq AND l.lease_id = in_lease_id;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM {live} v WHERE v.seq = item.seq
        RETURNING 0 AS retry_count, NULL::text AS last_error, coalesce(v.content_type, 'application/json') AS content_type, v.headers, v.payload
        INTO past;
        IF NOT FOUND THEN
            DELETE FROM {waiting} w WHERE w.seq = item.seq
            RETURNING w.retry_count, w.last_error, w.content_type, w.headers, w.payload INTO past;
        END IF;
        UPDATE {key} k
           SET state = 2, seq = NULL, nonce = NULL, processed_at = at, processed_by = in_owner::text,
               last_error = past.last_error
         WHERE k.source = item.source AND k.message_id = item.message_id;
        IF in_keep THEN
            PERFORM {keep}(item.source, item.message_id, past.retry_count, past.content_type, past.headers, past.payload);
        ELSE
            PERFORM {keep}(item.source, item.message_id, past.retry_count, NULL, NULL, NULL);
        END IF;
        RETURN NEXT item.seq;
    END LOOP;
END $$;

{define:function do_purge}(in_older_us bigint, in_window_us bigint, in_batch bigint)
RETURNS TABLE (purged bigint, busy integer) {pinned_path} SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    older timestamptz := clock_timestamp() - in_older_us * interval '1 microsecond';
    gone bigint;
BEGIN
    IF NOT {enter_purge}() THEN
        RETURN QUERY SELECT 0::bigint, 1;
        RETURN;
    END IF;
    WITH purged AS (
        DELETE FROM {key} k
         WHERE k.state = 2 AND k.last_seen <= older
           AND k.ctid = ANY (ARRAY(SELECT o.ctid FROM {key} o WHERE o.state = 2 AND o.last_seen <= older
                                    ORDER BY o.last_seen LIMIT in_batch FOR UPDATE SKIP LOCKED))
        RETURNING k.source, k.message_id),
    dropped AS (DELETE FROM {kept} c USING purged p WHERE c.source = p.source AND c.message_id = p.message_id)
    SELECT count(*) INTO gone FROM purged;
    RETURN QUERY SELECT gone, 0;
END $$;
