-- The inbox for any language.

{define:function check_key}(message_id text, source text, hash bytea) RETURNS void {pinned_path}
AS $$
BEGIN
    PERFORM {check_text}('message_id', message_id, 255, true);
    PERFORM {check_text}('source', source, 255, true);
    IF octet_length(hash) > 1024 THEN
        PERFORM {refuse}(format('hash: %s bytes, at most 1024 allowed', octet_length(hash)));
    END IF;
END $$;

-- The sender has reused an id, or somebody tampered with the content: worth a line in the log, and no reason to stop.
{define:function warn_of_hash}(message_id text, source text, hash_mismatch integer) RETURNS void {pinned_path}
AS $$
BEGIN
    IF hash_mismatch <> 0 THEN
        RAISE WARNING 'message % of source % came with another hash than before', message_id, source;
    END IF;
END $$;

-- Whether the message has been processed; notes that it was seen.
{define:function already_processed}(message_id text, source text, hash bytea DEFAULT NULL) RETURNS boolean
{pinned_path}
AS $$
DECLARE
    seen record;
BEGIN
    PERFORM {check_key}(message_id, source, hash);
    SELECT * INTO seen FROM {do_see}(source, message_id, hash);
    PERFORM {warn_of_hash}(message_id, source, seen.hash_mismatch);
    RETURN coalesce(seen.previous = 2, false);
END $$;

-- Stores the message for processing unless it is done, or refreshes what nobody holds. Returns its work-item id;
-- NULL: it was done before. A dead message stays dead unless `revive`.
{define:function enqueue}(
    topic text, source text, message_id text, payload bytea, hash bytea DEFAULT NULL,
    due_time timestamptz DEFAULT NULL, content_type text DEFAULT 'application/json', headers jsonb DEFAULT NULL,
    ordering_key text DEFAULT NULL, priority integer DEFAULT 0, max_attempts integer DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, revive boolean DEFAULT false)
RETURNS uuid {pinned_path}
AS $$
DECLARE
    stored record;
BEGIN
    PERFORM {check_text}('topic', topic, 255, true);
    PERFORM {check_key}(message_id, source, hash);
    PERFORM {check_payload}(payload);
    PERFORM {check_text}('content_type', content_type, 255, false);
    PERFORM {check_text}('ordering_key', ordering_key, 255, false);
    PERFORM {check_headers}(headers);
    PERFORM {check_end}(max_attempts, due_time, expires_at);
    SELECT * INTO stored FROM {do_receive}(
        {random_id}(), message_id, topic, payload, coalesce(content_type, 'application/json'), headers::text::json,
        nullif(ordering_key, ''), source, hash, due_time, expires_at, coalesce(priority, 0), max_attempts,
        coalesce(revive, false));
    PERFORM {warn_of_hash}(message_id, source, stored.hash_mismatch);
    RETURN {item_id}(stored.seq, stored.nonce);
END $$;

{define:function enqueue}(
    topic text, source text, message_id text, payload text, hash bytea DEFAULT NULL,
    due_time timestamptz DEFAULT NULL, content_type text DEFAULT 'application/json', headers jsonb DEFAULT NULL,
    ordering_key text DEFAULT NULL, priority integer DEFAULT 0, max_attempts integer DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, revive boolean DEFAULT false)
RETURNS uuid {pinned_sql}
AS $$ SELECT {enqueue}($1, $2, $3, convert_to($4, 'UTF8'), $5, $6, $7, $8, $9, $10, $11, $12, $13) $$;

{define:function enqueue}(
    topic text, source text, message_id text, payload jsonb, hash bytea DEFAULT NULL,
    due_time timestamptz DEFAULT NULL, content_type text DEFAULT 'application/json', headers jsonb DEFAULT NULL,
    ordering_key text DEFAULT NULL, priority integer DEFAULT 0, max_attempts integer DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, revive boolean DEFAULT false)
RETURNS uuid {pinned_sql}
AS $$ SELECT {enqueue}($1, $2, $3, convert_to($4::text, 'UTF8'), $5, $6, $7, $8, $9, $10, $11, $12, $13) $$;

-- Each puts the message into that state, whatever it was but done, and drops a lease. Returns false when there
-- is no such message.
{define:function mark_processing}(message_id text, source text) RETURNS boolean {pinned_path}
AS $$
BEGIN
    PERFORM {check_key}(message_id, source, NULL);
    PERFORM FROM {do_mark}(source, message_id, 0, NULL);
    RETURN FOUND;
END $$;

{define:function mark_processed}(message_id text, source text) RETURNS boolean {pinned_path}
AS $$
BEGIN
    PERFORM {check_key}(message_id, source, NULL);
    PERFORM FROM {do_mark}(source, message_id, 2, NULL);
    RETURN FOUND;
END $$;

{define:function mark_dead}(message_id text, source text, error text DEFAULT NULL) RETURNS boolean
{pinned_path}
AS $$
BEGIN
    PERFORM {check_key}(message_id, source, NULL);
    PERFORM FROM {do_mark}(source, message_id, 3, nullif(left(error, 4000), ''));
    RETURN FOUND;
END $$;

-- What an owner holds of these message ids. Refused when it holds one id from two sources: then the lease has to be named.
{define:function held_ids}(in_owner uuid, in_message_ids text[]) RETURNS uuid[] {pinned_rows}
AS $$
DECLARE
    ids uuid[];
    names bigint;
BEGIN
    PERFORM {check_owner}(in_owner);
    IF in_message_ids IS NULL THEN
        PERFORM {refuse}('message_ids: must not be NULL');
    END IF;
    SELECT array_agg({item_id}(k.seq, k.nonce)), count(DISTINCT k.message_id) INTO ids, names
      FROM {key} k
     WHERE k.message_id = ANY (in_message_ids)
       AND (SELECT l.owner FROM {lease} l WHERE l.seq = k.seq) = in_owner;
    IF cardinality(ids) > names THEN
        PERFORM {refuse}('message_ids: one is leased from several sources; settle by lease');
    END IF;
    RETURN coalesce(ids, '{}');
END $$;

-- The settling verbs by owner and message id.
{define:function ack_messages}(owner uuid, message_ids text[]) RETURNS integer {pinned_path}
AS $$
BEGIN
    RETURN {ack_held}(NULL, owner, {held_ids}(owner, message_ids));
END $$;

{define:function abandon_messages}(owner uuid, message_ids text[], error text DEFAULT NULL, delay interval DEFAULT NULL)
RETURNS integer {pinned_path}
AS $$
BEGIN
    RETURN {abandon_held}(NULL, owner, {held_ids}(owner, message_ids), error, delay, false);
END $$;

{define:function fail_messages}(owner uuid, message_ids text[], error text) RETURNS integer {pinned_path}
AS $$
BEGIN
    RETURN {fail_held}(NULL, owner, {held_ids}(owner, message_ids), error, false);
END $$;
