-- Prolonging leases, and taking them without a claim.

-- out_extended: whose lease ends at in_until now; out_latest: the last end that one of them had before.
{define:procedure extend_leases}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_until DATETIME(6),
                                 OUT out_extended LONGTEXT, OUT out_latest DATETIME(6))
{modifies} BEGIN
    DECLARE v_held LONGTEXT;
    SELECT JSON_ARRAYAGG(l.seq) INTO v_held
      FROM JSON_TABLE(in_seqs, {numbers}) AS s
      STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
      LEFT JOIN {live} AS v FORCE INDEX (PRIMARY) ON v.seq = s.seq
      LEFT JOIN {waiting} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
     WHERE l.lease_id = in_lease_id AND COALESCE(v.nonce, w.nonce) IN {given_nonces};
    IF v_held IS NOT NULL THEN
        SELECT JSON_ARRAYAGG(d.seq), MAX(d.locked_until) INTO out_extended, out_latest
          FROM (SELECT l.seq, l.locked_until FROM (SELECT j.seq FROM JSON_TABLE(v_held, {numbers}) AS j) AS s
                STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
                 WHERE l.lease_id = in_lease_id FOR UPDATE SKIP LOCKED) AS d;
        IF out_extended IS NOT NULL THEN
            UPDATE JSON_TABLE(out_extended, {numbers}) AS s
            STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq SET l.locked_until = in_until;
        END IF;
    END IF;
END//

-- out_born: those of in_seqs that were born with this lease and have an ordinary one now.
{define:procedure extend_born}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                               IN in_until DATETIME(6), OUT out_born LONGTEXT)
{modifies} BEGIN
    SELECT JSON_ARRAYAGG(d.seq) INTO out_born
      FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, {numbers}) AS j) AS s
            STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             WHERE m.lease_id = in_lease_id AND m.nonce IN {given_nonces}
               AND (SELECT l.seq FROM {lease} AS l WHERE l.seq = m.seq) IS NULL
             FOR UPDATE SKIP LOCKED) AS d;
    IF out_born IS NOT NULL THEN
        INSERT INTO {lease} (seq, lease_id, locked_until, owner)
        SELECT s.seq, in_lease_id, in_until, in_owner
          FROM JSON_TABLE(out_born, {numbers}) AS s
            ON DUPLICATE KEY UPDATE locked_until = locked_until;
    END IF;
END//

-- Prolongs leases of these messages; a message born leased gets an ordinary one. Nobody waits for a lease that is being settled
-- at this moment: one open transaction must not keep the others from being prolonged. It stands for as long as it has time left.
{define:procedure do_extend}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                             IN in_lease_us BIGINT)
{modifies} BEGIN
    DECLARE v_until DATETIME(6) DEFAULT UTC_TIMESTAMP(6) + INTERVAL in_lease_us MICROSECOND;
    DECLARE v_latest DATETIME(6);
    DECLARE v_extended, v_born, v_busy, v_stand LONGTEXT;
    CALL {extend_leases}(in_seqs, in_nonces, in_lease_id, v_until, v_extended, v_latest);
    IF COALESCE(JSON_LENGTH(v_extended), 0) < JSON_LENGTH(in_seqs) THEN
        CALL {extend_born}(in_seqs, in_nonces, in_lease_id, in_owner, v_until, v_born);
    END IF;
    -- Claims have worked out from the leases they saw when to look for the first that has run out. Only what runs out sooner
    -- than they know has to be told to them.
    IF v_born IS NOT NULL OR v_latest > v_until THEN
        UPDATE {gate} AS g SET g.lease_due = v_until WHERE g.name = 'claim' AND g.lease_due > v_until;
    END IF;
    -- What was prolonged stands, even if it is so short that it is over by now.
    SET v_stand = JSON_MERGE_PRESERVE(COALESCE(v_extended, '[]'), COALESCE(v_born, '[]'));
    IF JSON_LENGTH(v_stand) < JSON_LENGTH(in_seqs) THEN
        SELECT JSON_ARRAYAGG(s.seq) INTO v_busy
          FROM JSON_TABLE(in_seqs, {numbers}) AS s
          LEFT JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
          LEFT JOIN {live} AS v FORCE INDEX (PRIMARY) ON v.seq = s.seq
          LEFT JOIN {waiting} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
         WHERE COALESCE(l.lease_id, v.lease_id) = in_lease_id AND COALESCE(l.locked_until, v.born_until) > UTC_TIMESTAMP(6)
           AND COALESCE(v.nonce, w.nonce) IN {given_nonces};
        SET v_stand = JSON_MERGE_PRESERVE(v_stand, COALESCE(v_busy, '[]'));
    END IF;
    SELECT DISTINCT s.seq FROM JSON_TABLE(v_stand, {numbers}) AS s;
END//

-- Leases messages, dead or ready, of which nobody holds a lease that stands, in a transaction of its own: an open one would keep
-- the claims waiting at {gate}. A message that somebody has locked is passed by.
{define:procedure do_hold}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                           IN in_lease_us BIGINT)
{modifies} BEGIN
    DECLARE v_at, v_until DATETIME(6);
    DECLARE v_live, v_waiting, v_free, v_over LONGTEXT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    DO (SELECT g.mark FROM {gate} AS g WHERE g.name = 'claim' FOR UPDATE);
    SET v_at = UTC_TIMESTAMP(6), v_until = v_at + INTERVAL in_lease_us MICROSECOND;
    SELECT JSON_ARRAYAGG(d.seq) INTO v_live
      FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, {numbers}) AS j) AS s
            STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             WHERE m.nonce IN {given_nonces} AND COALESCE(m.born_until <= v_at, TRUE)
               FOR UPDATE SKIP LOCKED) AS d;
    SELECT JSON_ARRAYAGG(d.seq) INTO v_waiting
      FROM (SELECT m.seq FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, {numbers}) AS j) AS s
            STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
             WHERE m.nonce IN {given_nonces}
               FOR UPDATE SKIP LOCKED) AS d;
    SET v_free = JSON_MERGE_PRESERVE(COALESCE(v_live, '[]'), COALESCE(v_waiting, '[]'));
    SELECT JSON_ARRAYAGG(d.seq) INTO v_over
      FROM (SELECT l.seq FROM (SELECT j.seq FROM JSON_TABLE(v_free, {numbers}) AS j) AS s
            STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
             WHERE l.locked_until <= v_at FOR UPDATE SKIP LOCKED) AS d;
    IF v_over IS NOT NULL THEN
        DELETE l
          FROM JSON_TABLE(v_over, {numbers}) AS s
          STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq;
    END IF;
    INSERT INTO {lease} (seq, lease_id, locked_until, owner)
    SELECT s.seq, in_lease_id, v_until, in_owner
      FROM JSON_TABLE(v_free, {numbers}) AS s
     WHERE (SELECT l.seq FROM {lease} AS l WHERE l.seq = s.seq) IS NULL;
    UPDATE {gate} AS g SET g.lease_due = v_until WHERE g.name = 'claim' AND g.lease_due > v_until;
    COMMIT;
    SELECT s.seq
      FROM JSON_TABLE(v_free, {numbers}) AS s
      STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.seq = s.seq
     WHERE l.lease_id = in_lease_id;
END//
