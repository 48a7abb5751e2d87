-- Settling what a lease holds one by one, and what operators do with dead messages. Each verb acts only where the lease stands: a
-- lease row with that id, or a message born with it that nobody has taken over. An expired lease that nobody took back yet still
-- stands. Decisions rest on locking reads, which see the latest commits also where the caller's transaction is REPEATABLE READ.
-- There a locking read that finds nothing locks the gap, in {live} the one into which everybody writes. So a message is looked
-- for in {live} unless it is known to be in {waiting}: from there it never goes back.

-- The message that in_lease_id holds: locks it and drops the lease. out_live: 1 when it is in {live}, 0 when it is in
-- {waiting}, NULL when the lease is lost.
{define:procedure take_lease}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT, OUT out_live TINYINT)
{modifies} BEGIN
    DECLARE v_live, v_waiting BIGINT DEFAULT 0;
    DECLARE v_lease, v_born BIGINT;
    SELECT COUNT(*) INTO v_waiting FROM {waiting} AS m WHERE m.seq = in_seq;
    IF v_waiting = 0 THEN
        SELECT COUNT(*), MAX(m.lease_id) INTO v_live, v_born
          FROM {live} AS m WHERE m.seq = in_seq AND m.nonce = in_nonce FOR UPDATE;
    END IF;
    IF v_live = 0 THEN
        SELECT COUNT(*) INTO v_waiting FROM {waiting} AS m WHERE m.seq = in_seq AND m.nonce = in_nonce FOR UPDATE;
    END IF;
    SET out_live = NULL;
    IF v_live + v_waiting > 0 THEN
        SELECT MAX(l.lease_id) INTO v_lease FROM {lease} AS l WHERE l.seq = in_seq FOR UPDATE;
        IF v_lease = in_lease_id THEN
            DELETE FROM {lease} WHERE seq = in_seq;
            SET out_live = v_live;
        ELSEIF v_lease IS NULL AND v_born = in_lease_id THEN
            SET out_live = 1;
        END IF;
    END IF;
END//

-- A note for the ordering key that a dead message does not hold back any more.
{define:procedure note_freed}(IN in_seq BIGINT)
{modifies} BEGIN
    INSERT INTO {turn} (ordering_key)
    SELECT m.ordering_key FROM {waiting} AS m WHERE m.seq = in_seq AND m.frees_key = 1;
END//

-- Gives a message back for its next attempt, or lets it die of its last one. out_state: NULL when the lease is lost.
{define:procedure release}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT,
                           IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, IN in_delay_us BIGINT, IN in_count_attempt BIGINT,
                           IN in_max_attempts BIGINT, IN in_frees_key TINYINT, OUT out_state TINYINT)
{modifies} BEGIN
    DECLARE v_live TINYINT;
    DECLARE v_retries, v_max BIGINT;
    DECLARE v_available, v_expires DATETIME(6);
    DECLARE v_dead BOOLEAN;
    SET out_state = NULL;
    CALL {take_lease}(in_seq, in_nonce, in_lease_id, v_live);
    IF v_live IS NOT NULL THEN
        IF v_live = 1 THEN
            SELECT COALESCE(m.max_attempts, in_max_attempts), m.expires_at, 0 INTO v_max, v_expires, v_retries
              FROM {live} AS m WHERE m.seq = in_seq FOR UPDATE;
        ELSE
            SELECT COALESCE(m.max_attempts, in_max_attempts), m.expires_at, m.retry_count
              INTO v_max, v_expires, v_retries
              FROM {waiting} AS m WHERE m.seq = in_seq FOR UPDATE;
        END IF;
        SET v_retries = v_retries + in_count_attempt;
        SET v_dead = in_count_attempt > 0 AND v_max > 0 AND v_retries >= v_max;
        -- An expired message is not kept waiting for its next attempt.
        SET v_available = UTC_TIMESTAMP(6) + INTERVAL in_delay_us MICROSECOND;
        SET v_available = LEAST(v_available, COALESCE(v_expires, v_available));
        SET out_state = IF(v_dead, 3, 0);
        IF v_live = 1 THEN
            CALL {park}(JSON_ARRAY(in_seq), IF(v_dead, NULL, v_available), out_state, IF(v_dead, 'max_attempts', NULL),
                        v_retries, 0, in_error);
        ELSE
            UPDATE {waiting} AS m
               SET m.available_at = IF(v_dead, m.available_at, v_available), m.state = out_state,
                   m.dead_reason = IF(v_dead, 'max_attempts', NULL), m.retry_count = v_retries,
                   m.frees_key = v_dead AND in_frees_key <> 0 AND m.ordering_key IS NOT NULL,
                   m.last_error = COALESCE(in_error, m.last_error), m.died_at = IF(v_dead, UTC_TIMESTAMP(6), NULL)
             WHERE m.seq = in_seq;
            IF v_dead THEN
                CALL {note_freed}(in_seq);
            END IF;
        END IF;
    END IF;
END//

-- out_done: 1, or 0 when the lease is lost.
{define:procedure kill_one}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT,
                            IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, IN in_reason VARCHAR(64), IN in_frees_key TINYINT,
                            OUT out_done TINYINT)
{modifies} BEGIN
    DECLARE v_live TINYINT;
    CALL {take_lease}(in_seq, in_nonce, in_lease_id, v_live);
    SET out_done = v_live IS NOT NULL;
    IF v_live = 1 THEN
        CALL {park}(JSON_ARRAY(in_seq), NULL, 3, in_reason, 0, 0, in_error);
    ELSEIF v_live = 0 THEN
        UPDATE {waiting} AS m
           SET m.state = 3, m.dead_reason = in_reason, m.last_error = COALESCE(in_error, m.last_error),
               m.frees_key = in_frees_key <> 0 AND m.ordering_key IS NOT NULL, m.died_at = UTC_TIMESTAMP(6)
         WHERE m.seq = in_seq;
        CALL {note_freed}(in_seq);
    END IF;
END//

-- Adds a failed attempt to those of a message that has just been settled, of which the last ones are kept. in_count: it is
-- counted here.
{define:procedure note_attempt}(IN in_seq BIGINT, IN in_attempt MEDIUMTEXT CHARACTER SET utf8mb4, IN in_count INT)
{modifies} BEGIN
    UPDATE {waiting} AS m
       SET m.retry_count = m.retry_count + in_count,
           m.attempts = JSON_ARRAY_APPEND(
               IF(JSON_LENGTH(m.attempts) >= {attempts_kept}, JSON_REMOVE(m.attempts, '$[0]'), COALESCE(m.attempts, '[]')),
               '$', JSON_SET(in_attempt, '$.at', TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))
     WHERE m.seq = in_seq;
END//

-- The verbs as the library calls them: what changed comes back as rows.
{define:procedure do_give_back}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT,
                                IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, IN in_delay_us BIGINT,
                                IN in_count_attempt BIGINT, IN in_max_attempts BIGINT, IN in_frees_key TINYINT,
                                IN in_attempt MEDIUMTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    DECLARE v_state TINYINT;
    CALL {release}(in_seq, in_nonce, in_lease_id, in_error, in_delay_us, in_count_attempt, in_max_attempts, in_frees_key,
                   v_state);
    IF v_state IS NOT NULL THEN
        IF in_attempt IS NOT NULL THEN
            CALL {note_attempt}(in_seq, in_attempt, 0);
        END IF;
        SELECT in_seq AS seq, v_state AS state;
    END IF;
END//

-- With an attempt it died of that, which counts.
{define:procedure do_kill}(IN in_seq BIGINT, IN in_nonce BIGINT, IN in_lease_id BIGINT,
                           IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, IN in_reason VARCHAR(64), IN in_frees_key TINYINT,
                           IN in_attempt MEDIUMTEXT CHARACTER SET utf8mb4)
{modifies} BEGIN
    DECLARE v_done TINYINT;
    CALL {kill_one}(in_seq, in_nonce, in_lease_id, in_error, in_reason, in_frees_key, v_done);
    IF v_done THEN
        IF in_attempt IS NOT NULL THEN
            CALL {note_attempt}(in_seq, in_attempt, 1);
        END IF;
        SELECT in_seq AS seq;
    END IF;
END//

{define:procedure do_redrive}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT)
{modifies} BEGIN
    DECLARE v_dead LONGTEXT;
    SELECT JSON_ARRAYAGG(m.seq) INTO v_dead
      FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, {numbers}) AS j) AS s
      STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
     WHERE m.nonce IN {given_nonces} AND m.state = 3
       FOR UPDATE;
    IF v_dead IS NOT NULL THEN
        UPDATE JSON_TABLE(v_dead, {numbers}) AS s
        STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
           SET m.state = 0, m.available_at = UTC_TIMESTAMP(6), m.retry_count = 0, m.lost_count = 0, m.dead_reason = NULL,
               m.last_error = NULL, m.behind = 0, m.frees_key = 0;
    END IF;
    SELECT COALESCE(JSON_LENGTH(v_dead), 0) AS redriven;
END//

-- Messages that are put off, by a back-off or because they were given back, become claimable now, or when they are due.
{define:procedure do_retry_now}(IN in_seqs LONGTEXT, IN in_nonces LONGTEXT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_put_off LONGTEXT;
    SELECT JSON_ARRAYAGG(m.seq) INTO v_put_off
      FROM (SELECT j.seq FROM JSON_TABLE(in_seqs, {numbers}) AS j) AS s
      STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
     WHERE m.nonce IN {given_nonces} AND m.state = 0 AND m.available_at > GREATEST(v_at, COALESCE(m.due_time, v_at))
       AND COALESCE((SELECT l.locked_until FROM {lease} AS l WHERE l.seq = m.seq) <= v_at, 1)
       FOR UPDATE;
    IF v_put_off IS NOT NULL THEN
        UPDATE JSON_TABLE(v_put_off, {numbers}) AS s
        STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
           SET m.available_at = GREATEST(v_at, COALESCE(m.due_time, v_at));
    END IF;
    SELECT COALESCE(JSON_LENGTH(v_put_off), 0) AS retried;
END//
