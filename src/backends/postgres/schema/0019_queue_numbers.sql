-- Messages from before numbers were checked, whose number fits into no id: no row of theirs could be changed any more. They get
-- numbers like any other, behind all that were there before, and are claimable again; leases on the old numbers were nobody's.
-- Locks: the rows that change. Way back: none is needed.
DO $$
DECLARE
    highest CONSTANT bigint := 288230376151711743;
    queue_table text;
    old_row record;
    new_seq bigint;
BEGIN
    DELETE FROM {lease} l WHERE l.seq < 1 OR l.seq > highest;
    FOREACH queue_table IN ARRAY ARRAY['{live}', '{waiting}'] LOOP
        FOR old_row IN EXECUTE format('SELECT m.seq, m.nonce FROM %s m WHERE m.seq < 1 OR m.seq > $1', queue_table)
                       USING highest LOOP
            new_seq := nextval('{number}');
            EXECUTE format('UPDATE %s SET seq = $1 WHERE seq = $2', queue_table) USING new_seq, old_row.seq;
            UPDATE {key} k SET seq = new_seq WHERE k.seq = old_row.seq AND k.nonce = old_row.nonce;
        END LOOP;
    END LOOP;
END $$;
