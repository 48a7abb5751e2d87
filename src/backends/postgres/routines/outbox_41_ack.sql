-- Acknowledging in the outbox: messages are removed, and kept as history if asked.

-- Drops the leases in_lease_id that hold these messages, and returns their numbers. in_is_run: the numbers have no gap,
-- and their messages are known to be the ones meant.
{define:function drop_leases}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_is_run boolean)
RETURNS bigint[] {step}
AS $$
DECLARE
    first_seq CONSTANT bigint := in_seqs[1];
    last_seq CONSTANT bigint := in_seqs[cardinality(in_seqs)];
    held bigint[];
BEGIN
    IF in_is_run THEN
        WITH dropped AS (
            DELETE FROM {lease} l
             WHERE l.seq >= first_seq AND l.seq <= last_seq AND l.lease_id = in_lease_id
            RETURNING l.seq
        )
        SELECT array_agg(d.seq) INTO held FROM dropped d;
    ELSE
        WITH dropped AS (
            DELETE FROM {lease} l
             WHERE l.seq = ANY (in_seqs) AND l.lease_id = in_lease_id
               AND (coalesce((SELECT v.nonce FROM {live} v WHERE v.seq = l.seq),
                             (SELECT w.nonce FROM {waiting} w WHERE w.seq = l.seq)) = ANY (in_nonces))
            RETURNING l.seq
        )
        SELECT array_agg(d.seq) INTO held FROM dropped d;
    END IF;
    RETURN coalesce(held, '{}');
END $$;

-- Settles those of the numbers that are in waiting: retried, deferred or with an ordering key. Their leases are
-- dropped already.
{define:function ack_waiting}(in_seqs bigint[], in_nonces bigint[], in_at timestamptz, in_owner uuid, in_keep boolean)
RETURNS SETOF bigint {step}
AS $$
BEGIN
    IF NOT in_keep THEN
        RETURN QUERY
        DELETE FROM {waiting} w WHERE w.seq = ANY (in_seqs) AND w.nonce = ANY (in_nonces) RETURNING w.seq;
        RETURN;
    END IF;
    RETURN QUERY
    WITH gone AS (
        DELETE FROM {waiting} w WHERE w.seq = ANY (in_seqs) AND w.nonce = ANY (in_nonces) RETURNING w.*
    )
    INSERT INTO {done} AS d ({columns:kept}, available_at, retry_count, lost_count, attempts, processed_at, processed_by)
    SELECT {columns:kept g}, g.available_at, g.retry_count, g.lost_count, g.attempts, in_at, in_owner::text FROM gone g
    RETURNING d.seq;
END $$;

-- Settles messages born leased that have no ordinary lease yet, and returns their numbers. After a claim took one over
-- it is no longer in live; one that is held by another lease still is.
{define:function ack_born}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_at timestamptz, in_owner uuid,
                           in_keep boolean, in_is_run boolean)
RETURNS bigint[] {step}
AS $$
DECLARE
    first_seq CONSTANT bigint := in_seqs[1];
    last_seq CONSTANT bigint := in_seqs[cardinality(in_seqs)];
    settled bigint[];
BEGIN
    IF in_keep THEN
        WITH gone AS (
            DELETE FROM {live} v
             WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces) AND v.lease_id = in_lease_id
               AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
            RETURNING v.*
        ), kept AS (
            INSERT INTO {done} AS d ({columns:kept}, available_at, retry_count, lost_count, processed_at, processed_by)
            SELECT {values:kept g}, coalesce(g.due_time, g.created_at), 0, 0, in_at, in_owner::text FROM gone g
            RETURNING d.seq
        )
        SELECT array_agg(k.seq) INTO settled FROM kept k;
        RETURN coalesce(settled, '{}');
    END IF;
    IF in_is_run THEN
        -- Unless somebody has leased one of them just now.
        WITH gone AS (
            DELETE FROM {live} v
             WHERE v.seq >= first_seq AND v.seq <= last_seq AND v.lease_id = in_lease_id
               AND (SELECT l.seq FROM {lease} l WHERE l.seq >= first_seq AND l.seq <= last_seq
                     ORDER BY l.seq LIMIT 1) IS NULL
            RETURNING v.seq
        )
        SELECT array_agg(g.seq) INTO settled FROM gone g;
    END IF;
    IF settled IS NULL THEN
        WITH gone AS (
            DELETE FROM {live} v
             WHERE v.seq = ANY (in_seqs) AND v.nonce = ANY (in_nonces) AND v.lease_id = in_lease_id
               AND (SELECT l.seq FROM {lease} l WHERE l.seq = v.seq) IS NULL
            RETURNING v.seq
        )
        SELECT array_agg(g.seq) INTO settled FROM gone g;
    END IF;
    RETURN coalesce(settled, '{}');
END $$;

-- Removes acknowledged messages and keeps them as history. The numbers come in order.
--
-- Those of a claim mostly are a few long runs, and in live: then ranges find them, which is cheaper than one search for
-- each, and one comparison tells that they are the messages meant. Otherwise at most 200 go at a time, because the list
-- of nonces is searched one by one.
{define:function do_ack}(in_seqs bigint[], in_nonces bigint[], in_lease_id bigint, in_owner uuid, in_keep boolean,
                         in_relaxed boolean DEFAULT false)
RETURNS SETOF bigint {pinned}
AS $$
DECLARE
    chunk CONSTANT integer := 200;
    run_min CONSTANT integer := 8;  -- on average, for ranges to pay
    run_max CONSTANT integer := 500;
    at CONSTANT timestamptz := clock_timestamp();
    asked CONSTANT integer := cardinality(in_seqs);
    begins integer[];  -- where the pieces begin that go together
    by_run boolean;
    last integer;
    seqs bigint[];
    nonces bigint[];
    first_seq bigint;
    last_seq bigint;
    is_run boolean;
    leased boolean;
    held bigint[];
    settled bigint;
    born bigint;
BEGIN
    IF in_relaxed THEN
        -- An ack that a crash undoes is a redelivery. Local to this transaction, which is the ack's own.
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    begins := ARRAY(SELECT i FROM generate_series(1, asked) i
                     WHERE i % run_max = 1 OR in_seqs[i] <> in_seqs[i - 1] + 1);
    by_run := cardinality(begins) * run_min <= asked;
    IF NOT by_run THEN
        begins := ARRAY(SELECT generate_series(1, asked, chunk));
    END IF;
    FOR i IN 1 .. cardinality(begins) LOOP
        last := coalesce(begins[i + 1] - 1, asked);
        seqs := in_seqs[begins[i]:last];
        nonces := in_nonces[begins[i]:last];
        first_seq := seqs[1];
        last_seq := seqs[cardinality(seqs)];
        is_run := by_run AND nonces = ARRAY(SELECT v.nonce FROM {live} v WHERE v.seq >= first_seq AND v.seq <= last_seq
                                             ORDER BY v.seq);
        leased := (SELECT l.seq FROM {lease} l WHERE l.seq >= first_seq AND l.seq <= last_seq
                    ORDER BY l.seq LIMIT 1) IS NOT NULL;
        held := '{}';
        settled := 0;
        IF leased THEN
            held := {drop_leases}(seqs, nonces, in_lease_id, is_run);
        END IF;
        IF cardinality(held) > 0 THEN
            is_run := is_run AND cardinality(held) = cardinality(seqs);
            IF in_keep THEN
                INSERT INTO {done} ({columns:kept}, available_at, retry_count, lost_count, processed_at, processed_by)
                SELECT {values:kept g}, coalesce(g.due_time, g.created_at), 0, 0, at, in_owner::text
                  FROM unnest(CASE WHEN is_run THEN ARRAY[first_seq] ELSE held END,
                              CASE WHEN is_run THEN ARRAY[last_seq] ELSE held END) AS run (first, last),
                       LATERAL (SELECT * FROM {live} f WHERE f.seq >= run.first AND f.seq <= run.last OFFSET 0) g;
            END IF;
            IF is_run THEN
                RETURN QUERY DELETE FROM {live} v WHERE v.seq >= first_seq AND v.seq <= last_seq RETURNING v.seq;
            ELSE
                RETURN QUERY DELETE FROM {live} v WHERE v.seq = ANY (held) RETURNING v.seq;
            END IF;
            GET DIAGNOSTICS settled = ROW_COUNT;
        END IF;
        IF settled < cardinality(held) THEN
            RETURN QUERY SELECT s FROM {ack_waiting}(held, nonces, at, in_owner, in_keep) s;
        END IF;
        IF cardinality(held) < cardinality(seqs) THEN
            -- One by one: a set that is returned by a set costs more than the message.
            FOREACH born IN ARRAY {ack_born}(seqs, nonces, in_lease_id, at, in_owner, in_keep,
                                             is_run AND NOT leased) LOOP
                RETURN NEXT born;
            END LOOP;
        END IF;
    END LOOP;
END $$;
