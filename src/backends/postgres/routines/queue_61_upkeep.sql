-- The functions for any language, continued: what a worker does besides settling, and what an operator does.

-- Prolongs the lease on these messages to `lease_seconds` from now; returns how many it still held.
{define:function extend}(lease_id bigint, ids uuid[], lease_seconds integer) RETURNS integer {pinned_path}
AS $$
DECLARE
    batch record;
    changed integer := 0;
    extended integer;
BEGIN
    PERFORM {check_lease}(lease_id);
    PERFORM {check_lease_seconds}(lease_seconds);
    FOR batch IN SELECT h.owner, array_agg(h.seq ORDER BY h.seq) AS seqs, array_agg(h.nonce ORDER BY h.seq) AS nonces
                   FROM {held}(lease_id, NULL, ids) h GROUP BY 1
    LOOP
        SELECT count(*) INTO extended
          FROM {do_extend}(batch.seqs, batch.nonces, lease_id, batch.owner, lease_seconds * 1000000::bigint);
        changed := changed + extended;
    END LOOP;
    RETURN changed;
END $$;

-- Gives back messages that were not tried: at once or after `delay`, and at no cost of an attempt.
{define:function hand_back}(lease_id bigint, ids uuid[], delay interval DEFAULT NULL) RETURNS integer {pinned_path}
AS $$
DECLARE
    message record;
    delay_us bigint := coalesce((extract(epoch FROM delay) * 1000000)::bigint, 0);
    changed integer := 0;
BEGIN
    PERFORM {check_lease}(lease_id);
    IF delay_us < 0 OR delay > interval '{delay_seconds_max} seconds' THEN
        PERFORM {refuse}(format('delay: %s s, must be at least 0 and at most {delay_seconds_max} s',
                                extract(epoch FROM delay)::float8));
    END IF;
    FOR message IN SELECT * FROM {held}(lease_id, NULL, ids) LOOP
        PERFORM FROM {do_retry}(message.seq, message.nonce, lease_id, NULL, delay_us, 0, 0, false);
        changed := changed + FOUND::integer;
    END LOOP;
    RETURN changed;
END $$;

-- Dead messages are ready again, as new; returns how many were dead.
{define:function redrive}(ids uuid[]) RETURNS integer {pinned_path}
AS $$
DECLARE
    seqs bigint[];
    nonces bigint[];
BEGIN
    IF ids IS NULL THEN
        PERFORM {refuse}('ids: must not be NULL');
    END IF;
    SELECT array_agg(p.seq), array_agg(p.nonce) INTO seqs, nonces FROM {item_parts}(ids) p;
    RETURN coalesce({do_redrive}(seqs, nonces), 0);
END $$;

-- Removes a batch of done messages that are older; returns how many. To be called again until it returns 0.
{define:function purge}(older_than interval, batch integer DEFAULT 1000) RETURNS bigint {pinned_path}
AS $$
DECLARE
    older_us bigint := (extract(epoch FROM older_than) * 1000000)::bigint;
BEGIN
    IF older_us IS NULL OR older_us < 0 THEN
        PERFORM {refuse}('older_than: must not be NULL or negative');
    ELSIF batch IS NULL OR batch <= 0 OR batch > {batch_max} THEN
        PERFORM {refuse}(format('batch: %s, must be between 1 and {batch_max}', batch));
    END IF;
    RETURN (SELECT p.purged FROM {do_purge}(older_us, 7 * 86400 * 1000000::bigint, batch) p);
END $$;

-- Wakes the relays and dispatchers that listen. To be called after the commit of what it is about, in a transaction of its
-- own: a NOTIFY makes all transactions that have one commit one after the other. Without it they look by themselves. The channel
-- is the one that the library listens on (channel_of).
{define:function nudge}() RETURNS void {pinned_sql}
AS $$ SELECT pg_notify('postroom_' || encode(substr(sha256(convert_to(btrim('{schema}', '"') || '.{queue}', 'UTF8')), 1, 16), 'hex'),
                       '') $$;
