-- The functions for any language: claim, read, ack, abandon, fail, reap. They refuse what the library refuses,
-- with the same words and SQLSTATE 22023. Ids are work-item ids; ids that are not ours are ignored, an empty
-- array changes nothing, a NULL one is refused.

CREATE FUNCTION {refuse}(complaint text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '%', complaint USING ERRCODE = 'invalid_parameter_value';
END $$;

CREATE FUNCTION {check_text}(field text, value text, chars_max integer, required boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF required AND coalesce(value, '') = '' THEN
        PERFORM {refuse}(field || ': must not be empty');
    ELSIF char_length(value) > chars_max THEN
        PERFORM {refuse}(format('%s: %s characters, at most %s allowed', field, char_length(value), chars_max));
    END IF;
END $$;

CREATE FUNCTION {check_payload}(payload bytea) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF payload IS NULL THEN
        PERFORM {refuse}('payload: missing; give an empty string for a message without a body');
    ELSIF octet_length(payload) > 1048576 THEN
        PERFORM {refuse}(format('payload: %s bytes, at most 1048576 allowed (max_payload_bytes)',
                                octet_length(payload)));
    END IF;
END $$;

CREATE FUNCTION {check_owner}(owner uuid) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF owner IS NULL OR owner = '00000000-0000-0000-0000-000000000000' THEN
        PERFORM {refuse}('owner_token: must not be the nil token');
    END IF;
END $$;

-- A random 64-bit number: a counter would start again after a crash.
CREATE FUNCTION {random_id}() RETURNS bigint LANGUAGE sql VOLATILE
RETURN hashtextextended(gen_random_uuid()::text, 0);

-- Leases up to `batch` messages for `lease_seconds`. Must be a transaction of its own.
CREATE FUNCTION {claim}(owner uuid, lease_seconds integer, batch integer)
RETURNS TABLE (id uuid, lease_id bigint) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    new_lease bigint := {random_id}();
    held bigint[];
BEGIN
    PERFORM {check_owner}(owner);
    IF lease_seconds IS NULL OR lease_seconds <= 0 OR lease_seconds > 86400 THEN
        PERFORM {refuse}(format('lease: %s s, must be above 0 and at most 86400 s', lease_seconds));
    END IF;
    IF batch IS NULL OR batch <= 0 OR batch > 10000 THEN
        PERFORM {refuse}(format('batch: %s, must be between 1 and 10000', batch));
    END IF;
    PERFORM {do_claim}(owner, new_lease, lease_seconds * 1000000::bigint, batch, floor(random() * 8)::bigint,
                       false);
    held := ARRAY(SELECT l.seq FROM {lease} l WHERE l.lease_id = new_lease);
    RETURN QUERY SELECT {item_id}(v.seq, v.nonce), new_lease FROM {live} v WHERE v.seq = ANY (held);
    RETURN QUERY SELECT {item_id}(w.seq, w.nonce), new_lease FROM {waiting} w WHERE w.seq = ANY (held);
END $$;

-- The messages that a lease holds.
CREATE FUNCTION {read}(lease_id bigint)
RETURNS TABLE (id uuid, message_id text, topic text, payload bytea, content_type text, headers jsonb,
               correlation_id text, tenant_id text, idempotency_key text, aggregate_type text, aggregate_id text,
               ordering_key text, source text, hash bytea, created_at timestamptz, due_time timestamptz,
               expires_at timestamptz, priority integer, retry_count integer, lost_count integer,
               locked_until timestamptz)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT {item_id}(r.seq, r.nonce), r.message_id, r.topic, r.payload, r.content_type, r.headers::jsonb,
           r.correlation_id, r.tenant_id, r.idempotency_key, r.aggregate_type, r.aggregate_id, r.ordering_key,
           r.source, r.hash, r.created_at, r.due_time, r.expires_at, r.priority, r.retry_count, r.lost_count,
           r.locked_until
      FROM {do_read}($1) r
$$;

-- What the given ids mean under a lease or, without one, under all leases of an owner.
CREATE FUNCTION {held}(in_lease_id bigint, in_owner uuid, in_ids uuid[])
RETURNS TABLE (lease_id bigint, owner uuid, seq bigint, nonce bigint, retry_count integer) LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
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
CREATE FUNCTION {ack_held}(in_lease_id bigint, in_owner uuid, in_ids uuid[]) RETURNS integer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
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
CREATE FUNCTION {abandon_held}(in_lease_id bigint, in_owner uuid, in_ids uuid[], in_error text, in_delay interval,
                               in_frees_key boolean)
RETURNS integer LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    message record;
    delay_us bigint := (extract(epoch FROM in_delay) * 1000000)::bigint;
    changed integer := 0;
BEGIN
    IF in_delay <= interval '0' OR in_delay > interval '3650 days' THEN
        PERFORM {refuse}(format('delay: %s s, must be above 0 and at most 315360000 s',
                                extract(epoch FROM in_delay)::float8));
    END IF;
    FOR message IN SELECT * FROM {held}(in_lease_id, in_owner, in_ids) LOOP
        PERFORM FROM {do_retry}(
            message.seq, message.nonce, message.lease_id, nullif(left(in_error, 4000), ''),
            coalesce(delay_us, least(2 ^ least(message.retry_count + 1, 6), 60)::bigint * 1000000), 1, 10,
            coalesce(in_frees_key, false));
        changed := changed + FOUND::integer;
    END LOOP;
    RETURN changed;
END $$;

CREATE FUNCTION {fail_held}(in_lease_id bigint, in_owner uuid, in_ids uuid[], in_error text, in_frees_key boolean)
RETURNS integer LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    message record;
    changed integer := 0;
BEGIN
    FOR message IN SELECT * FROM {held}(in_lease_id, in_owner, in_ids) LOOP
        PERFORM FROM {do_fail}(message.seq, message.nonce, message.lease_id, nullif(left(in_error, 4000), ''),
                               'failed', coalesce(in_frees_key, false));
        changed := changed + FOUND::integer;
    END LOOP;
    RETURN changed;
END $$;

-- The settling verbs, each by lease and by owner. By owner alone, a worker that lost its lease to another
-- claim of the same owner is not told apart from it. Each returns how many messages it changed. A message that dies
-- holds back the later ones of its ordering key until it is redriven, unless frees_key says otherwise.
CREATE FUNCTION {ack}(lease_id bigint, ids uuid[]) RETURNS integer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF lease_id IS NULL THEN
        PERFORM {refuse}('lease_id: must not be NULL');
    END IF;
    RETURN {ack_held}(lease_id, NULL, ids);
END $$;

CREATE FUNCTION {ack}(owner uuid, ids uuid[]) RETURNS integer LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp AS 'SELECT {ack_held}(NULL, $1, $2)';

CREATE FUNCTION {abandon}(lease_id bigint, ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL,
                          frees_key boolean DEFAULT false)
RETURNS integer LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF lease_id IS NULL THEN
        PERFORM {refuse}('lease_id: must not be NULL');
    END IF;
    RETURN {abandon_held}(lease_id, NULL, ids, error, delay, frees_key);
END $$;

CREATE FUNCTION {abandon}(owner uuid, ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL,
                          frees_key boolean DEFAULT false)
RETURNS integer LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS 'SELECT {abandon_held}(NULL, $1, $2, $3, $4, $5)';

CREATE FUNCTION {fail}(lease_id bigint, ids uuid[], error text DEFAULT NULL, frees_key boolean DEFAULT false)
RETURNS integer LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF lease_id IS NULL THEN
        PERFORM {refuse}('lease_id: must not be NULL');
    END IF;
    RETURN {fail_held}(lease_id, NULL, ids, error, frees_key);
END $$;

CREATE FUNCTION {fail}(owner uuid, ids uuid[], error text DEFAULT NULL, frees_key boolean DEFAULT false)
RETURNS integer LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS 'SELECT {fail_held}(NULL, $1, $2, $3, $4)';

-- Takes back all leases that have run out; returns how many.
CREATE FUNCTION {reap}() RETURNS integer LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
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
