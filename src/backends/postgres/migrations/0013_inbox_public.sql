-- The inbox for any language.

CREATE FUNCTION {check_key}(message_id text, source text, hash bytea) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {check_text}('message_id', message_id, 255, true);
    PERFORM {check_text}('source', source, 255, true);
    IF octet_length(hash) > 1024 THEN
        PERFORM {refuse}(format('hash: %s bytes, at most 1024 allowed', octet_length(hash)));
    END IF;
END $$;

-- Whether the message has been processed; notes that it was seen.
CREATE FUNCTION {already_processed}(message_id text, source text, hash bytea DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {check_key}(message_id, source, hash);
    RETURN coalesce((SELECT s.previous = 2 FROM {do_see}(source, message_id, hash) s), false);
END $$;

-- Stores the message for processing unless it is done, or refreshes what nobody holds. Returns its work-item id;
-- NULL: it was done before.
CREATE FUNCTION {enqueue}(
    topic text, source text, message_id text, payload bytea, hash bytea DEFAULT NULL,
    due_time timestamptz DEFAULT NULL, content_type text DEFAULT 'application/json', headers jsonb DEFAULT NULL,
    ordering_key text DEFAULT NULL)
RETURNS uuid LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stored record;
BEGIN
    PERFORM {check_text}('topic', topic, 255, true);
    PERFORM {check_key}(message_id, source, hash);
    PERFORM {check_payload}(payload);
    PERFORM {check_text}('content_type', content_type, 255, false);
    PERFORM {check_text}('ordering_key', ordering_key, 255, false);
    IF headers IS NOT NULL AND jsonb_typeof(headers) <> 'object' THEN
        PERFORM {refuse}('headers: must be a JSON object');
    END IF;
    SELECT * INTO stored FROM {do_receive}(
        {random_id}(), source, message_id, topic, payload, hash, coalesce(content_type, 'application/json'),
        headers::text::json, nullif(ordering_key, ''), due_time, NULL, 0, NULL, false);
    RETURN {item_id}(stored.seq, stored.nonce);
END $$;

CREATE FUNCTION {enqueue}(
    topic text, source text, message_id text, payload text, hash bytea DEFAULT NULL,
    due_time timestamptz DEFAULT NULL, content_type text DEFAULT 'application/json', headers jsonb DEFAULT NULL,
    ordering_key text DEFAULT NULL)
RETURNS uuid LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ SELECT {enqueue}($1, $2, $3, convert_to($4, 'UTF8'), $5, $6, $7, $8, $9) $$;

CREATE FUNCTION {enqueue}(
    topic text, source text, message_id text, payload jsonb, hash bytea DEFAULT NULL,
    due_time timestamptz DEFAULT NULL, content_type text DEFAULT 'application/json', headers jsonb DEFAULT NULL,
    ordering_key text DEFAULT NULL)
RETURNS uuid LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ SELECT {enqueue}($1, $2, $3, convert_to($4::text, 'UTF8'), $5, $6, $7, $8, $9) $$;

-- Each puts the message into that state, whatever it was but done, and drops a lease. Returns false when there
-- is no such message.
CREATE FUNCTION {mark_processing}(message_id text, source text) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {check_key}(message_id, source, NULL);
    PERFORM FROM {do_mark}(source, message_id, 0, NULL);
    RETURN FOUND;
END $$;

CREATE FUNCTION {mark_processed}(message_id text, source text) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {check_key}(message_id, source, NULL);
    PERFORM FROM {do_mark}(source, message_id, 2, NULL);
    RETURN FOUND;
END $$;

CREATE FUNCTION {mark_dead}(message_id text, source text, error text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {check_key}(message_id, source, NULL);
    PERFORM FROM {do_mark}(source, message_id, 3, nullif(left(error, 4000), ''));
    RETURN FOUND;
END $$;
