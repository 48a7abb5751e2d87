-- Receiving: what becomes of a message that arrives, for the first time or again.

-- Locks the content of a key, whose row the caller has locked, and looks at its lease afterwards: a claim locks what it
-- leases, so it has either finished or passes this message by. The lease itself is not locked, or its holder could not prolong
-- it while the caller's transaction is open. A caller in REPEATABLE READ sees the leases of its snapshot, and may not see one that is
-- there: for such a session content that could be claimed counts as leased, unless the transaction is our own (in_own), which
-- {begin_own} began in READ COMMITTED whatever the session has. Content that is known
-- to wait is not looked for in {live}, which in REPEATABLE READ would lock the gap that new messages are written into.
-- out_live: 1 in {live}, 0 in {waiting}, NULL: no content.
{define:procedure hold_content}(IN in_seq BIGINT, IN in_key_state TINYINT, IN in_own BOOLEAN, OUT out_live TINYINT,
                                OUT out_leased TINYINT, OUT out_state TINYINT)
{modifies} BEGIN
    DECLARE v_count, v_waits BIGINT DEFAULT 0;
    DECLARE v_until DATETIME(6);
    SET out_live = NULL, out_leased = 0, out_state = in_key_state;
    IF in_seq IS NOT NULL THEN
        SELECT COUNT(*) INTO v_waits FROM {waiting} AS m WHERE m.seq = in_seq;
        IF v_waits = 0 THEN
            SELECT COUNT(*) INTO v_count FROM {live} AS m WHERE m.seq = in_seq FOR UPDATE;
        END IF;
        SET out_live = v_count;
        IF v_count = 1 THEN
            SET out_state = 0;
        ELSE
            SELECT COALESCE(MAX(m.state), 0) INTO out_state FROM {waiting} AS m WHERE m.seq = in_seq FOR UPDATE;
        END IF;
        SELECT MAX(l.locked_until) INTO v_until FROM {lease} AS l WHERE l.seq = in_seq;
        SET out_leased = v_until IS NOT NULL OR (out_state = 0 AND NOT in_own AND {isolation} <> 'READ-COMMITTED');
        IF v_until > UTC_TIMESTAMP(6) THEN
            SET out_state = 1;
        END IF;
    END IF;
END//

-- Removes content that nobody holds, so that new content can come under the same number. What it had lived through goes with it
-- unless it is revived: attempts, losses, why it is dead. A dead one keeps its time.
{define:procedure clear_content}(IN in_seq BIGINT, IN in_live TINYINT, IN in_dead BOOLEAN, IN in_revived BOOLEAN,
                                 INOUT io_available DATETIME(6), INOUT io_retries INT, INOUT io_losses INT,
                                 INOUT io_reason VARCHAR(64), INOUT io_error MEDIUMTEXT CHARACTER SET utf8mb4,
                                 INOUT io_frees TINYINT)
{modifies} BEGIN
    DECLARE v_key VARBINARY(1024);
    IF in_live = 1 THEN
        DELETE FROM {live} WHERE seq = in_seq;
    ELSE
        SELECT m.retry_count, m.lost_count, m.dead_reason, m.last_error, m.frees_key, m.ordering_key,
               IF(in_dead, m.available_at, io_available)
          INTO io_retries, io_losses, io_reason, io_error, io_frees, v_key, io_available
          FROM {waiting} AS m WHERE m.seq = in_seq FOR UPDATE;
        DELETE FROM {waiting} WHERE seq = in_seq;
        IF v_key IS NOT NULL THEN
            INSERT INTO {turn} (ordering_key) VALUES (v_key);
        END IF;
        IF in_revived THEN
            SET io_retries = 0, io_losses = 0, io_reason = NULL, io_error = NULL, io_frees = 0;
        END IF;
    END IF;
END//

-- Stores or refreshes a message; see Store::receive. out_seq NULL: done before. out_previous NULL: never heard of.
{define:procedure take_in_one}({declared:receive}, IN in_revive TINYINT, IN in_own BOOLEAN, OUT out_seq BIGINT,
                                   OUT out_nonce BIGINT, OUT out_previous TINYINT, OUT out_mismatch TINYINT)
{modifies} body: BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_available DATETIME(6) DEFAULT COALESCE(in_due_time, v_at);
    DECLARE v_first_seen DATETIME(6);
    DECLARE v_hash VARBINARY(1024);
    DECLARE v_key_state, v_live, v_leased, v_frees TINYINT DEFAULT 0;
    DECLARE v_retries, v_losses INT DEFAULT 0;
    DECLARE v_reason VARCHAR(64);
    DECLARE v_error MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE v_attempts LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_died DATETIME(6) DEFAULT v_at;
    DECLARE v_queued, v_dead BOOLEAN DEFAULT FALSE;
    SET out_previous = NULL, out_mismatch = 0;
    INSERT INTO {key} (source, message_id, state, nonce, first_seen, last_seen, topic, hash)
    VALUES (in_source, in_message_id, 0, in_nonce, v_at, v_at, in_topic, in_hash)
        ON DUPLICATE KEY UPDATE state = state;
    SELECT k.seq, k.nonce, k.state, k.first_seen, k.hash, k.last_error
      INTO out_seq, out_nonce, v_key_state, v_first_seen, v_hash, v_error
      FROM {key} AS k WHERE k.source = in_source AND k.message_id = in_message_id FOR UPDATE;
    SET v_queued = out_seq IS NOT NULL;
    IF v_queued OR NOT out_nonce <=> in_nonce THEN
        CALL {hold_content}(out_seq, v_key_state, in_own, v_live, v_leased, out_previous);
        SET out_mismatch = COALESCE(in_hash <> v_hash, 0);
        -- A lease that has run out counts too: its holder may still settle what it was given.
        IF out_previous = 2 OR v_leased THEN
            UPDATE {key} AS k SET k.last_seen = v_at, k.hash = COALESCE(k.hash, in_hash)
             WHERE k.source = in_source AND k.message_id = in_message_id;
            LEAVE body;
        END IF;
        SET v_dead = out_previous = 3 AND NOT in_revive;
        SET v_reason = IF(v_dead, 'failed', NULL), v_error = IF(v_dead, v_error, NULL);
        UPDATE {key} AS k SET k.last_seen = v_at, k.hash = COALESCE(in_hash, k.hash), k.topic = in_topic, k.state = 0
         WHERE k.source = in_source AND k.message_id = in_message_id;
        IF v_queued THEN
            SET v_available = GREATEST(v_available, v_at);
            SELECT MAX(m.died_at), MAX(m.attempts) INTO v_died, v_attempts FROM {waiting} AS m WHERE m.seq = out_seq;
            CALL {clear_content}(out_seq, v_live, v_dead, out_previous = 3 AND in_revive, v_available, v_retries, v_losses,
                                 v_reason, v_error, v_frees);
        END IF;
    END IF;
    IF NOT v_queued THEN
        SET out_nonce = in_nonce;
    END IF;
    IF NOT v_queued AND NOT v_dead AND in_priority >= 0 AND COALESCE(in_due_time <= v_at, 1) AND in_ordering_key IS NULL THEN
        INSERT INTO {live} (created_at, {columns:receive}) VALUES (v_at, {inputs:receive});
        SET out_seq = LAST_INSERT_ID();
    ELSE
        IF NOT v_queued THEN
            CALL {draw}(out_seq);
        END IF;
        SET in_nonce = out_nonce;  -- content comes back under the numbers that it had
        INSERT INTO {waiting} (seq, created_at, available_at, retry_count, lost_count, state, frees_key, dead_reason, last_error,
                               died_at, attempts, {columns:receive})
        VALUES (out_seq, v_first_seen, IF(v_dead, v_available, LEAST(v_available, COALESCE(in_expires_at, v_available))),
                v_retries, v_losses, IF(v_dead, 3, 0), v_frees AND in_ordering_key IS NOT NULL, v_reason, v_error,
                IF(v_dead, v_died, NULL), v_attempts, {inputs:receive});
    END IF;
    IF NOT v_queued THEN
        UPDATE {key} AS k SET k.seq = out_seq, k.nonce = out_nonce, k.last_error = NULL
         WHERE k.source = in_source AND k.message_id = in_message_id;
    END IF;
END//

{define:procedure do_take_in}({declared:receive}, IN in_revive TINYINT)
{modifies} BEGIN
    DECLARE v_seq, v_nonce BIGINT;
    DECLARE v_previous, v_mismatch TINYINT;
    CALL {take_in_one}({inputs:receive}, in_revive, FALSE, v_seq, v_nonce, v_previous, v_mismatch);
    SELECT v_seq AS seq, v_nonce AS nonce, v_previous AS previous, v_mismatch AS hash_mismatch;
END//

-- Stores messages that nobody has heard of, all at once: contents first, which nobody sees before the commit, then their keys. A
-- key that is taken stays as it is, and the content goes again: out_again tells that there are such. In READ COMMITTED only:
-- reading what it wrote must lock no gaps. Where numbers do not follow each other, nothing is stored at all.
{define:procedure take_in_new}(IN in_rows LONGTEXT, IN in_nonces LONGTEXT, OUT out_again BOOLEAN)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_first, v_last, v_count BIGINT;
    DECLARE v_nonces, v_taken LONGTEXT;
    SAVEPOINT postroom_rows;
    INSERT INTO {live} (nonce, created_at, source, message_id, topic, content_type, headers, hash, priority, max_attempts,
                        payload)
    SELECT r.nonce, v_at, r.source, r.message_id, r.topic, r.content_type, r.headers, r.hash, r.priority, r.max_attempts,
           r.payload
      FROM {received};
    SET v_count = ROW_COUNT(), v_first = LAST_INSERT_ID(), v_last = v_first + v_count - 1;
    SELECT GROUP_CONCAT(m.nonce) INTO v_nonces
      FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN v_first AND v_last;
    SET out_again = NOT CONCAT('[', v_nonces, ']') <=> in_nonces;
    IF out_again THEN
        ROLLBACK TO SAVEPOINT postroom_rows;
    ELSE
        INSERT INTO {key} (source, message_id, state, seq, nonce, first_seen, last_seen, topic, hash)
        SELECT m.source, m.message_id, 0, m.seq, m.nonce, v_at, v_at, m.topic, m.hash
          FROM {live} AS m FORCE INDEX (PRIMARY) WHERE m.seq BETWEEN v_first AND v_last
            ON DUPLICATE KEY UPDATE state = state;
        SELECT m.seq, m.nonce, NULL AS previous, 0 AS hash_mismatch, m.nonce AS given
          FROM {live} AS m FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN {key} AS k FORCE INDEX (PRIMARY) ON k.source = m.source AND k.message_id = m.message_id
         WHERE m.seq BETWEEN v_first AND v_last AND k.seq = m.seq AND k.nonce = m.nonce;
        SET out_again = FOUND_ROWS() < v_count;
        IF out_again THEN
            SELECT JSON_ARRAYAGG(m.seq) INTO v_taken
              FROM {live} AS m FORCE INDEX (PRIMARY)
              LEFT JOIN {key} AS k FORCE INDEX (PRIMARY)
                ON k.source = m.source AND k.message_id = m.message_id AND k.seq = m.seq AND k.nonce = m.nonce
             WHERE m.seq BETWEEN v_first AND v_last AND k.seq IS NULL;
            DELETE m
              FROM JSON_TABLE(v_taken, {numbers}) AS s
              STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq;
        END IF;
    END IF;
END//

-- Takes in one after the other what has no key of this call yet.
{define:procedure take_in_rest}(IN in_rows LONGTEXT, IN in_revive TINYINT)
{modifies} BEGIN
    DECLARE v_given, v_seq, v_nonce, v_priority, v_max_attempts BIGINT;
    DECLARE v_previous, v_mismatch TINYINT;
    DECLARE v_source, v_message_id, v_topic, v_content_type, v_hash VARBINARY(1024);
    DECLARE v_headers LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_payload LONGBLOB;
    DECLARE v_end BOOLEAN DEFAULT FALSE;
    DECLARE v_items CURSOR FOR
        SELECT r.nonce, r.source, r.message_id, r.topic, r.content_type, r.headers, r.hash, r.priority, r.max_attempts,
               r.payload
          FROM {received}
         WHERE NOT (SELECT k.nonce FROM {key} AS k WHERE k.source = r.source AND k.message_id = r.message_id) <=> r.nonce;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    OPEN v_items;
    items: LOOP
        FETCH v_items INTO v_given, v_source, v_message_id, v_topic, v_content_type, v_headers, v_hash, v_priority,
                           v_max_attempts, v_payload;
        IF v_end THEN
            LEAVE items;
        END IF;
        -- Those for later, or with an ordering key, never come here.
        CALL {take_in_one}(v_given, v_message_id, v_topic, v_payload, v_content_type, v_headers, NULL, v_source, v_hash,
                               NULL, NULL, v_priority, v_max_attempts, in_revive, FALSE, v_seq, v_nonce, v_previous,
                               v_mismatch);
        SELECT v_seq AS seq, v_nonce AS nonce, v_previous AS previous, v_mismatch AS hash_mismatch, v_given AS given;
        SET v_end = FALSE;
    END LOOP;
    CLOSE v_items;
END//

-- Many messages for which it is time at once; what has been heard of before is taken in one after the other.
{define:procedure do_receive_many}(IN in_rows LONGTEXT, IN in_nonces LONGTEXT, IN in_revive TINYINT)
{modifies} BEGIN
    DECLARE v_again BOOLEAN DEFAULT TRUE;
    {own_transaction}
    CALL {begin_own}(v_own);
    IF v_own THEN
        CALL {take_in_new}(in_rows, in_nonces, v_again);
    END IF;
    IF v_again THEN
        CALL {take_in_rest}(in_rows, in_revive);
    END IF;
    {commit_own}
END//
