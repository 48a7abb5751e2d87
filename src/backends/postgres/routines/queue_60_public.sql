-- The functions for any language: claim, read, ack, abandon, fail, reap. They refuse what the library refuses,
-- with the same words and SQLSTATE 22023. Ids are work-item ids; ids that are not ours are ignored, an empty
-- array changes nothing, a NULL one is refused.

{define:function refuse}(complaint text) RETURNS void {pinned_path}
AS $$
BEGIN
    RAISE EXCEPTION '%', complaint USING ERRCODE = 'invalid_parameter_value';
END $$;

{define:function check_text}(field text, value text, chars_max integer, required boolean) RETURNS void
{pinned_path}
AS $$
BEGIN
    IF required AND coalesce(value, '') = '' THEN
        PERFORM {refuse}(field || ': must not be empty');
    ELSIF char_length(value) > chars_max THEN
        PERFORM {refuse}(format('%s: %s characters, at most %s allowed', field, char_length(value), chars_max));
    END IF;
END $$;

{define:function check_payload}(payload bytea) RETURNS void {pinned_path}
AS $$
BEGIN
    IF payload IS NULL THEN
        PERFORM {refuse}('payload: missing; give an empty string for a message without a body');
    ELSIF octet_length(payload) > {max_payload_bytes} THEN
        PERFORM {refuse}(format('payload: %s bytes, at most {max_payload_bytes} allowed (max_payload_bytes)',
                                octet_length(payload)));
    END IF;
END $$;

{define:function check_owner}(owner uuid) RETURNS void {pinned_path}
AS $$
BEGIN
    IF owner IS NULL OR owner = '00000000-0000-0000-0000-000000000000' THEN
        PERFORM {refuse}('owner_token: must not be the nil token');
    END IF;
END $$;

{define:function check_lease}(lease_id bigint) RETURNS void {pinned_path}
AS $$
BEGIN
    IF lease_id IS NULL THEN
        PERFORM {refuse}('lease_id: must not be NULL');
    END IF;
END $$;

{define:function check_lease_seconds}(lease_seconds integer) RETURNS void {pinned_path}
AS $$
BEGIN
    IF lease_seconds IS NULL OR lease_seconds <= 0 OR lease_seconds > {lease_seconds_max} THEN
        PERFORM {refuse}(format('lease: %s s, must be above 0 and at most {lease_seconds_max} s', lease_seconds));
    END IF;
END $$;

{define:function check_headers}(headers jsonb) RETURNS void {pinned_path}
AS $$
BEGIN
    IF headers IS NOT NULL AND jsonb_typeof(headers) <> 'object' THEN
        PERFORM {refuse}('headers: must be a JSON object');
    ELSIF octet_length(headers::text) > {headers_bytes} THEN
        PERFORM {refuse}(format('headers: %s bytes, at most {headers_bytes} allowed', octet_length(headers::text)));
    END IF;
END $$;

{define:function check_end}(max_attempts integer, due_time timestamptz, expires_at timestamptz) RETURNS void
{pinned_path}
AS $$
BEGIN
    IF max_attempts < 1 THEN
        PERFORM {refuse}(format('max_attempts: %s, at least 1 required', max_attempts));
    ELSIF expires_at <= due_time THEN
        PERFORM {refuse}('expires_at: must lie after due_time');
    END IF;
END $$;

-- A random 64-bit number: a counter would start again after a crash.
{define:function random_id}() RETURNS bigint LANGUAGE sql VOLATILE
RETURN hashtextextended(gen_random_uuid()::text, 0);

-- Those of the messages that a lease holds whose time is over.
{define:function expired_in}(in_lease_id bigint) RETURNS TABLE (seq bigint, nonce bigint) {pinned}
AS $$
#variable_conflict use_column
DECLARE
    held bigint[] := ARRAY(SELECT l.seq FROM {lease} l WHERE l.lease_id = in_lease_id);
BEGIN
    RETURN QUERY SELECT v.seq, v.nonce FROM {live} v WHERE v.seq = ANY (held) AND v.expires_at <= clock_timestamp();
    RETURN QUERY SELECT w.seq, w.nonce FROM {waiting} w WHERE w.seq = ANY (held) AND w.expires_at <= clock_timestamp();
END $$;

-- Leases up to `batch` messages for `lease_seconds`. What has expired is dead instead, and others take its places.
-- Must be a transaction of its own.
{define:function claim}(owner uuid, lease_seconds integer, batch integer)
RETURNS TABLE (id uuid, lease_id bigint, message_id text) {pinned}
AS $$
#variable_conflict use_column
DECLARE
    new_lease bigint := {random_id}();
    held bigint[];
    room bigint := batch;
    leased bigint;
    expired_before bigint := 0;
    expired bigint;
BEGIN
    PERFORM {check_owner}(owner);
    PERFORM {check_lease_seconds}(lease_seconds);
    IF batch IS NULL OR batch <= 0 OR batch > {batch_max} THEN
        PERFORM {refuse}(format('batch: %s, must be between 1 and {batch_max}', batch));
    END IF;
    -- Nobody counts the claims of all callers: each goes by one of the 32 ways to share a batch.
    LOOP
        SELECT {do_claim}(owner, new_lease, lease_seconds * 1000000::bigint, room, p.urgent_to, p.keyed_to, p.due_to,
                          p.low_to, p.keyed_again_to, false)
          INTO leased FROM {claim_passes}(room, floor(random() * 32)::bigint) p;
        expired := (SELECT count(*) FROM {expired_in}(new_lease));
        EXIT WHEN leased < room OR expired = expired_before;
        room := expired - expired_before;
        expired_before := expired;
    END LOOP;
    IF expired > 0 THEN
        PERFORM {do_fail}(e.seq, e.nonce, new_lease, 'expired before it could be delivered', 'expired', false)
           FROM {expired_in}(new_lease) e;
    END IF;
    held := ARRAY(SELECT l.seq FROM {lease} l WHERE l.lease_id = new_lease);
    RETURN QUERY SELECT {item_id}(v.seq, v.nonce), new_lease, v.message_id::text FROM {live} v WHERE v.seq = ANY (held);
    RETURN QUERY SELECT {item_id}(w.seq, w.nonce), new_lease, w.message_id::text FROM {waiting} w WHERE w.seq = ANY (held);
END $$;

-- Headers that json takes need not be fit for jsonb: NULL if they are not.
{define:function readable_headers}(in_headers text) RETURNS jsonb {step}
AS $$
BEGIN
    RETURN in_headers::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END $$;

-- The messages that a lease holds, 32 MiB of payload and headers at most: what goes beyond is released and comes with the
-- next claim. A message that alone is larger comes alone, and ends dead if it is larger than the limits allow, as does one whose
-- headers cannot be read.
{define:function read}(lease_id bigint) RETURNS TABLE (id uuid, {readable_types}) {pinned_path}
AS $$
#variable_conflict use_column
DECLARE
    bytes_max CONSTANT bigint := 33554432;
    of_one_max CONSTANT bigint := greatest(bytes_max, {max_payload_bytes}::bigint + {headers_text_bytes});
    headers_read jsonb;
    r record;
BEGIN
    FOR r IN SELECT * FROM {do_read}($1, bytes_max, of_one_max) LOOP
        headers_read := CASE WHEN r.headers IS NOT NULL THEN {readable_headers}(r.headers) END;
        IF r.content_bytes > of_one_max THEN
            PERFORM FROM {do_fail}(r.seq, r.nonce, $1, format('payload and headers: %s bytes, at most %s allowed',
                                                              r.content_bytes, of_one_max), 'unreadable', false);
        ELSIF r.content_bytes IS NOT NULL THEN
            PERFORM FROM {do_retry}(r.seq, r.nonce, $1, NULL, 0, 0, 0, false);
        ELSIF r.headers IS NOT NULL AND headers_read IS NULL THEN
            PERFORM FROM {do_fail}(r.seq, r.nonce, $1, 'headers: cannot be read as jsonb', 'unreadable', false);
        ELSE
            RETURN QUERY SELECT {item_id}(r.seq, r.nonce), {readable};
        END IF;
    END LOOP;
END $$;

-- What the given ids mean under a lease or, without one, under all leases of an owner.
{define:function held}(in_lease_id bigint, in_owner uuid, in_ids uuid[])
RETURNS TABLE (lease_id bigint, owner uuid, seq bigint, nonce bigint, retry_count integer) {pinned_rows}
AS $$
#variable_conflict use_column
DECLARE
    item record;
    lease record;
BEGIN
    IF in_ids IS NULL THEN
        PERFORM {refuse}('ids: must not be NULL');
    END IF;
    IF in_lease_id IS NULL THEN
        PERFORM {check_owner}(in_owner);
    END IF;
    FOR item IN SELECT p.seq, p.nonce FROM {item_parts}(in_ids) p LOOP
        SELECT l.lease_id, l.owner INTO lease FROM {lease} l WHERE l.seq = item.seq;
        IF NOT FOUND THEN
            SELECT v.lease_id, v.owner INTO lease FROM {live} v
             WHERE v.seq = item.seq AND v.lease_id IS NOT NULL;
        END IF;
        CONTINUE WHEN NOT FOUND OR lease.lease_id IS DISTINCT FROM coalesce(in_lease_id, lease.lease_id)
                      OR lease.owner IS DISTINCT FROM coalesce(in_owner, lease.owner);
        RETURN QUERY SELECT lease.lease_id, lease.owner, item.seq, item.nonce,
                            coalesce((SELECT w.retry_count FROM {waiting} w WHERE w.seq = item.seq), 0);
    END LOOP;
END $$;

-- Acknowledges; a message whose history cannot be kept is acknowledged all the same.
{define:function ack_held}(in_lease_id bigint, in_owner uuid, in_ids uuid[]) RETURNS integer {pinned_path}
AS $$
DECLARE
    batch record;
    changed integer := 0;
    acked integer;
BEGIN
    FOR batch IN SELECT h.lease_id, h.owner, array_agg(h.seq ORDER BY h.seq) AS seqs,
                        array_agg(h.nonce ORDER BY h.seq) AS nonces
                   FROM {held}(in_lease_id, in_owner, in_ids) h GROUP BY 1, 2
    LOOP
        BEGIN
            SELECT count(*) INTO acked FROM {do_ack}(batch.seqs, batch.nonces, batch.lease_id, batch.owner, true);
        EXCEPTION WHEN integrity_constraint_violation OR undefined_table OR insufficient_privilege
                       OR insufficient_resources OR program_limit_exceeded OR io_error THEN
            SELECT count(*) INTO acked FROM {do_ack}(batch.seqs, batch.nonces, batch.lease_id, batch.owner, false);
        END;
        changed := changed + acked;
    END LOOP;
    RETURN changed;
END $$;

-- Back-off without a given delay: 2^n seconds after the n-th failure, at most a minute. Dead after ten
-- deliveries where the message says nothing else.
-- A failed delivery as the library describes its own.
{define:function attempt_of}(in_worker uuid, in_outcome text, in_error text) RETURNS jsonb LANGUAGE sql STABLE
RETURN jsonb_build_object('worker', in_worker, 'outcome', in_outcome, 'error', coalesce(left(in_error, {attempt_chars}), ''));

{define:function abandon_held}(in_lease_id bigint, in_owner uuid, in_ids uuid[], in_error text, in_delay interval,
                               in_frees_key boolean)
RETURNS integer {pinned_path}
AS $$
DECLARE
    message record;
    delay_us bigint := (extract(epoch FROM in_delay) * 1000000)::bigint;
    changed integer := 0;
BEGIN
    IF in_delay <= interval '0' OR in_delay > interval '{delay_seconds_max} seconds' THEN
        PERFORM {refuse}(format('delay: %s s, must be above 0 and at most {delay_seconds_max} s',
                                extract(epoch FROM in_delay)::float8));
    END IF;
    FOR message IN SELECT * FROM {held}(in_lease_id, in_owner, in_ids) LOOP
        PERFORM FROM {do_retry}(
            message.seq, message.nonce, message.lease_id, nullif(left(in_error, 4000), ''),
            coalesce(delay_us, least(2 ^ least(message.retry_count + 1, 6), 60)::bigint * 1000000), 1, 10,
            coalesce(in_frees_key, false), {attempt_of}(message.owner, 'abandon', in_error));
        changed := changed + FOUND::integer;
    END LOOP;
    RETURN changed;
END $$;

{define:function fail_held}(in_lease_id bigint, in_owner uuid, in_ids uuid[], in_error text, in_frees_key boolean)
RETURNS integer {pinned_path}
AS $$
DECLARE
    message record;
    changed integer := 0;
BEGIN
    {require_error}
    FOR message IN SELECT * FROM {held}(in_lease_id, in_owner, in_ids) LOOP
        PERFORM FROM {do_fail}(message.seq, message.nonce, message.lease_id, nullif(left(in_error, 4000), ''),
                               'failed', coalesce(in_frees_key, false),
                               {attempt_of}(message.owner, 'fail', in_error));
        changed := changed + FOUND::integer;
    END LOOP;
    RETURN changed;
END $$;

-- The settling verbs, each by lease and by owner. By owner alone, a worker that lost its lease to another
-- claim of the same owner is not told apart from it. Each returns how many messages it changed. A message that dies
-- holds back the later ones of its ordering key until it is redriven, unless frees_key says otherwise.
{define:function ack}(lease_id bigint, ids uuid[]) RETURNS integer {pinned_path}
AS $$
BEGIN
    PERFORM {check_lease}(lease_id);
    RETURN {ack_held}(lease_id, NULL, ids);
END $$;

{define:function ack}(owner uuid, ids uuid[]) RETURNS integer {pinned_sql} AS 'SELECT {ack_held}(NULL, $1, $2)';

{define:function abandon}(lease_id bigint, ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL,
                          frees_key boolean DEFAULT false)
RETURNS integer {pinned_path}
AS $$
BEGIN
    PERFORM {check_lease}(lease_id);
    RETURN {abandon_held}(lease_id, NULL, ids, error, delay, frees_key);
END $$;

{define:function abandon}(owner uuid, ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL,
                          frees_key boolean DEFAULT false)
RETURNS integer {pinned_sql}
AS 'SELECT {abandon_held}(NULL, $1, $2, $3, $4, $5)';

{define:function fail}(lease_id bigint, ids uuid[], error text DEFAULT NULL, frees_key boolean DEFAULT false)
RETURNS integer {pinned_path}
AS $$
BEGIN
    PERFORM {check_lease}(lease_id);
    RETURN {fail_held}(lease_id, NULL, ids, error, frees_key);
END $$;

{define:function fail}(owner uuid, ids uuid[], error text DEFAULT NULL, frees_key boolean DEFAULT false)
RETURNS integer {pinned_sql}
AS 'SELECT {fail_held}(NULL, $1, $2, $3, $4)';

-- Takes back all leases that have run out; returns how many.
{define:function reap}() RETURNS integer {pinned_path}
AS $$
DECLARE
    batch CONSTANT bigint := 1000;
    reaped bigint;
    total bigint := 0;
BEGIN
    LOOP
        reaped := {do_reap}(batch);
        total := total + reaped;
        EXIT WHEN reaped < batch;
    END LOOP;
    RETURN total;
END $$;
