-- The procedures for any language: claim, read, ack, abandon, fail, reap. They refuse what the library refuses, with the same
-- words and SQLSTATE 22023. Ids are work-item ids; lists of them are JSON arrays. Ids that are not ours are ignored, an
-- empty list changes nothing, a NULL one is refused. Each verb takes part in the caller's transaction; where there is none it
-- has one of its own.

{define:procedure refuse}(IN in_complaint TEXT CHARACTER SET utf8mb4)
{computes} BEGIN
    DECLARE v_text VARCHAR(128) CHARACTER SET utf8mb4 DEFAULT LEFT(in_complaint, 128);
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = v_text;
END//

{define:procedure check_text}(IN in_field VARCHAR(64), IN in_value LONGBLOB, IN in_chars_max INT, IN in_required BOOLEAN)
{computes} BEGIN
    DECLARE v_chars BIGINT DEFAULT CHAR_LENGTH(CONVERT(in_value USING utf8mb4));
    IF in_required AND COALESCE(LENGTH(in_value), 0) = 0 THEN
        CALL {refuse}(CONCAT(in_field, ': must not be empty'));
    ELSEIF v_chars > in_chars_max THEN
        CALL {refuse}(CONCAT(in_field, ': ', v_chars, ' characters, at most ', in_chars_max, ' allowed'));
    END IF;
END//

{define:procedure check_end}(IN in_max_attempts BIGINT, IN in_due_time DATETIME(6), IN in_expires_at DATETIME(6))
{computes} BEGIN
    IF in_max_attempts < 1 THEN
        CALL {refuse}(CONCAT('max_attempts: ', in_max_attempts, ', at least 1 required'));
    ELSEIF in_expires_at <= in_due_time THEN
        CALL {refuse}('expires_at: must lie after due_time');
    END IF;
END//

{define:procedure check_payload}(IN in_payload LONGBLOB, IN in_headers LONGTEXT CHARACTER SET utf8mb4)
{computes} BEGIN
    IF in_payload IS NULL THEN
        CALL {refuse}('payload: missing; give an empty string for a message without a body');
    ELSEIF LENGTH(in_payload) > {max_payload_bytes} THEN
        CALL {refuse}(CONCAT('payload: ', LENGTH(in_payload), ' bytes, at most {max_payload_bytes} allowed (max_payload_bytes)'));
    END IF;
    IF in_headers IS NOT NULL AND (NOT JSON_VALID(in_headers) OR JSON_TYPE(in_headers) <> 'OBJECT') THEN
        CALL {refuse}('headers: must be a JSON object');
    ELSEIF LENGTH(in_headers) > {headers_bytes} THEN
        CALL {refuse}(CONCAT('headers: ', LENGTH(in_headers), ' bytes, at most {headers_bytes} allowed'));
    END IF;
END//

-- The 16 bytes of an owner token.
{define:procedure owner_bytes}(IN in_owner VARCHAR(64) CHARACTER SET ascii, OUT out_bytes BINARY(16))
{computes} BEGIN
    SET out_bytes = UNHEX(REPLACE(in_owner, '-', ''));
    IF out_bytes IS NULL OR LENGTH(REPLACE(in_owner, '-', '')) <> 32
       OR out_bytes = UNHEX('00000000000000000000000000000000') THEN
        CALL {refuse}('owner_token: must be a UUID and not the nil token');
    END IF;
END//

-- Lets those of the leased messages die whose time is over; out_expired: how many.
{define:procedure expire_leased}(IN in_lease_id BIGINT, IN in_seqs LONGTEXT, OUT out_expired BIGINT)
{modifies} BEGIN
    DECLARE v_seq, v_nonce BIGINT;
    DECLARE v_done TINYINT;
    DECLARE v_end BOOLEAN DEFAULT FALSE;
    DECLARE v_expired CURSOR FOR
        SELECT m.seq, m.nonce FROM JSON_TABLE(in_seqs, {numbers}) AS s
          STRAIGHT_JOIN {live} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq WHERE m.expires_at <= UTC_TIMESTAMP(6)
        UNION ALL
        SELECT m.seq, m.nonce FROM JSON_TABLE(in_seqs, {numbers}) AS s
          STRAIGHT_JOIN {waiting} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq WHERE m.expires_at <= UTC_TIMESTAMP(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    SET out_expired = 0;
    OPEN v_expired;
    items: LOOP
        FETCH v_expired INTO v_seq, v_nonce;
        IF v_end THEN
            LEAVE items;
        END IF;
        CALL {kill_one}(v_seq, v_nonce, in_lease_id, 'expired before it could be delivered', 'expired', 0, v_done);
        SET out_expired = out_expired + v_done, v_end = FALSE;
    END LOOP;
    CLOSE v_expired;
END//

-- Leases up to `batch` messages for `lease_seconds`. Rows: id, lease_id, message_id. What has expired is dead instead, and others take its
-- places. Must be a transaction of its own.
{define:procedure claim}(IN owner VARCHAR(64) CHARACTER SET ascii, IN lease_seconds INT, IN batch INT)
{modifies} BEGIN
    DECLARE v_owner BINARY(16);
    DECLARE v_seqs LONGTEXT;
    DECLARE v_all LONGTEXT DEFAULT '[]';
    DECLARE v_room, v_expired BIGINT DEFAULT batch;
    DECLARE v_lease BIGINT DEFAULT {random};
    -- Named as the passes know them.
    DECLARE in_urgent_to, in_keyed_to, in_due_to, in_low_to, in_keyed_again_to BIGINT;
    {own_transaction}
    CALL {owner_bytes}(owner, v_owner);
    IF lease_seconds IS NULL OR lease_seconds <= 0 OR lease_seconds > {lease_seconds_max} THEN
        CALL {refuse}(CONCAT('lease: ', COALESCE(lease_seconds, 'NULL'), ' s, must be above 0 and at most {lease_seconds_max} s'));
    END IF;
    IF batch IS NULL OR batch <= 0 OR batch > {batch_max} THEN
        CALL {refuse}(CONCAT('batch: ', COALESCE(batch, 'NULL'), ', must be between 1 and {batch_max}'));
    END IF;
    WHILE v_room > 0 DO
        -- Nobody counts the claims of all callers: each goes by one of the 32 ways to share a batch.
        CALL {claim_passes}(v_room, FLOOR(RAND() * 32), {to_ceilings});
        CALL {lease_batch}(v_owner, v_lease, lease_seconds * 1000000, v_room, {to_ceilings}, v_seqs);
        SET v_expired = 0;
        IF v_seqs IS NOT NULL THEN
            CALL {begin_own}(v_own);
            CALL {expire_leased}(v_lease, v_seqs, v_expired);
            {commit_own}
            SET v_own = FALSE, v_all = JSON_MERGE_PRESERVE(v_all, v_seqs);
        END IF;
        SET v_room = v_expired;
    END WHILE;
    SELECT {item_id} AS id, v_lease AS lease_id, CONVERT(m.message_id USING utf8mb4) AS message_id
      FROM JSON_TABLE(v_all, {numbers}) AS s
      STRAIGHT_JOIN {live} AS m ON m.seq = s.seq
    UNION ALL
    SELECT {item_id}, v_lease, CONVERT(m.message_id USING utf8mb4)
      FROM JSON_TABLE(v_all, {numbers}) AS s
      STRAIGHT_JOIN {waiting} AS m ON m.seq = s.seq AND m.state = 0;
END//

-- The messages that a lease holds, as the views show them.
{define:procedure read}(IN lease_id BIGINT)
{reads} BEGIN
    DECLARE v_lease BIGINT DEFAULT lease_id;
    SELECT {item_id} AS id, m.* FROM {in_live} AS m WHERE m.lease_id = v_lease
    UNION ALL
    SELECT {item_id}, m.* FROM {in_waiting} AS m WHERE m.lease_id = v_lease;
END//

-- What the given ids mean under a lease or, without one, under all leases of an owner: a JSON array of
-- [seq, nonce, lease_id, retry_count].
{define:procedure held}(IN in_lease_id BIGINT, IN in_owner BINARY(16), IN in_ids LONGTEXT, OUT out_held LONGTEXT)
{reads} BEGIN
    IF in_ids IS NULL THEN
        CALL {refuse}('ids: must not be NULL');
    ELSEIF NOT JSON_VALID(in_ids) OR JSON_TYPE(in_ids) <> 'ARRAY' THEN
        CALL {refuse}('ids: must be a JSON array of texts');
    END IF;
    SELECT JSON_ARRAYAGG(JSON_ARRAY(d.seq, d.nonce, d.lease_id, d.retries)) INTO out_held
      FROM (SELECT DISTINCT i.seq, i.nonce, COALESCE(l.lease_id, v.lease_id) AS lease_id,
                   COALESCE(w.retry_count, 0) AS retries
              FROM {given_items} AS i
              LEFT JOIN {lease} AS l ON l.seq = i.seq
              LEFT JOIN {live} AS v ON v.seq = i.seq AND v.nonce = i.nonce
              LEFT JOIN {waiting} AS w ON w.seq = i.seq AND w.nonce = i.nonce
             WHERE COALESCE(l.lease_id, v.lease_id) = COALESCE(in_lease_id, l.lease_id, v.lease_id)
               AND COALESCE(l.owner, v.owner) = COALESCE(in_owner, l.owner, v.owner)
             ORDER BY i.seq LIMIT 1000000) AS d;
END//

-- Acknowledges, lease by lease; a message whose history cannot be kept is acknowledged all the same.
{define:procedure ack_held}(IN in_lease_id BIGINT, IN in_owner BINARY(16), IN in_ids LONGTEXT, OUT out_changed BIGINT)
{modifies} BEGIN
    DECLARE v_held, v_seqs, v_nonces, v_acked LONGTEXT;
    DECLARE v_lease BIGINT;
    DECLARE v_owner BINARY(16);
    SET out_changed = 0;
    CALL {held}(in_lease_id, in_owner, in_ids, v_held);
    WHILE v_held IS NOT NULL AND JSON_LENGTH(v_held) > 0 DO
        SET v_lease = JSON_EXTRACT(v_held, '$[0][2]');
        SELECT JSON_ARRAYAGG(s.seq), JSON_ARRAYAGG(s.nonce) INTO v_seqs, v_nonces
          FROM JSON_TABLE(v_held, {lease_rows}) AS s
         WHERE s.lease_id = v_lease;
        SELECT COALESCE((SELECT MAX(l.owner) FROM {lease} AS l WHERE l.seq = JSON_EXTRACT(v_held, '$[0][0]')),
                        (SELECT MAX(v.owner) FROM {live} AS v WHERE v.seq = JSON_EXTRACT(v_held, '$[0][0]')))
          INTO v_owner;
        BEGIN
            DECLARE CONTINUE HANDLER FOR SQLSTATE '42000', SQLSTATE '42S02', SQLSTATE '23000'
                CALL {acknowledge}(v_seqs, v_nonces, v_lease, v_owner, 0, v_acked);
            CALL {acknowledge}(v_seqs, v_nonces, v_lease, v_owner, 1, v_acked);
        END;
        SET out_changed = out_changed + COALESCE(JSON_LENGTH(v_acked), 0);
        SELECT JSON_ARRAYAGG(JSON_ARRAY(s.seq, s.nonce, s.lease_id)) INTO v_held
          FROM JSON_TABLE(v_held, {lease_rows}) AS s
         WHERE s.lease_id <> v_lease;
    END WHILE;
END//

-- Back-off without a given delay: 2^n seconds after the n-th failure, at most a minute. Dead after ten deliveries where the
-- message says nothing else. With in_dead the messages fail for good instead.
{define:procedure give_up_held}(IN in_lease_id BIGINT, IN in_owner BINARY(16), IN in_ids LONGTEXT,
                                IN in_error MEDIUMTEXT CHARACTER SET utf8mb4, IN in_delay_seconds DECIMAL(20, 6),
                                IN in_frees_key TINYINT, IN in_dead BOOLEAN, OUT out_changed BIGINT)
{modifies} BEGIN
    DECLARE v_held LONGTEXT;
    DECLARE v_seq, v_nonce, v_lease, v_retries, v_delay BIGINT;
    DECLARE v_state TINYINT;
    DECLARE v_changed BOOLEAN;
    DECLARE v_attempt MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE v_end BOOLEAN DEFAULT FALSE;
    DECLARE v_error MEDIUMTEXT CHARACTER SET utf8mb4 DEFAULT NULLIF(LEFT(in_error, 4000), '');
    DECLARE v_items CURSOR FOR
        SELECT s.seq, s.nonce, s.lease, s.retries
          FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', nonce BIGINT PATH '$[1]',
                                                  lease BIGINT PATH '$[2]', retries BIGINT PATH '$[3]')) AS s;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    IF in_delay_seconds <= 0 OR in_delay_seconds > {delay_seconds_max} THEN
        CALL {refuse}(CONCAT('delay: ', in_delay_seconds, ' s, must be above 0 and at most {delay_seconds_max} s'));
    END IF;
    SET out_changed = 0;
    CALL {held}(in_lease_id, in_owner, in_ids, v_held);
    SET v_held = COALESCE(v_held, '[]'), v_end = FALSE;
    OPEN v_items;
    items: LOOP
        FETCH v_items INTO v_seq, v_nonce, v_lease, v_retries;
        IF v_end THEN
            LEAVE items;
        END IF;
        SET v_attempt = JSON_OBJECT(
            'worker', {worker_text}, 'outcome', IF(in_dead, 'fail', 'abandon'),
            'error', COALESCE(LEFT(v_error, {attempt_chars}), ''));
        IF in_dead THEN
            CALL {kill_one}(v_seq, v_nonce, v_lease, v_error, 'failed', COALESCE(in_frees_key, 0), v_state);
            SET v_changed = v_state;
        ELSE
            SET v_delay = COALESCE(in_delay_seconds, LEAST(POW(2, LEAST(v_retries + 1, 6)), 60)) * 1000000;
            CALL {release}(v_seq, v_nonce, v_lease, v_error, v_delay, 1, 10, COALESCE(in_frees_key, 0), v_state);
            SET v_changed = v_state IS NOT NULL;
        END IF;
        IF v_changed THEN
            CALL {note_attempt}(v_seq, v_attempt, in_dead);
        END IF;
        SET out_changed = out_changed + v_changed;
        SET v_end = FALSE;
    END LOOP;
    CLOSE v_items;
END//

-- Settles what a lease holds, or an owner, in a transaction; yields how many messages it changed.
{define:procedure settle_held}(IN in_verb VARCHAR(8) CHARACTER SET ascii, IN in_lease_id BIGINT, IN in_owner BINARY(16),
                               IN in_ids LONGTEXT, IN in_error MEDIUMTEXT CHARACTER SET utf8mb4,
                               IN in_delay_seconds DECIMAL(20, 6), IN in_frees_key TINYINT)
{modifies} BEGIN
    DECLARE v_changed BIGINT;
    {own_transaction}
    IF in_lease_id IS NULL AND in_owner IS NULL THEN
        CALL {refuse}('lease_id: must not be NULL');
    END IF;
    IF in_verb = 'fail' AND {error_required} THEN
        CALL {refuse}('error: must not be NULL');
    END IF;
    CALL {begin_own}(v_own);
    IF in_verb = 'ack' THEN
        CALL {ack_held}(in_lease_id, in_owner, in_ids, v_changed);
    ELSE
        CALL {give_up_held}(in_lease_id, in_owner, in_ids, in_error, in_delay_seconds, in_frees_key, in_verb = 'fail', v_changed);
    END IF;
    {commit_own}
    SELECT v_changed AS changed;
END//

-- The settling verbs, each by lease and by owner. By owner alone, a worker that lost its lease to another claim of the same owner
-- is not told apart from it. A message that dies holds back the later ones of its ordering key until it is redriven, unless
-- frees_key says otherwise.
{define:procedure ack}(IN lease_id BIGINT, IN ids LONGTEXT)
{modifies} BEGIN
    CALL {settle_held}('ack', lease_id, NULL, ids, NULL, NULL, 0);
END//

{define:procedure ack_by_owner}(IN owner VARCHAR(64) CHARACTER SET ascii, IN ids LONGTEXT)
{modifies} BEGIN
    DECLARE v_owner BINARY(16);
    CALL {owner_bytes}(owner, v_owner);
    CALL {settle_held}('ack', NULL, v_owner, ids, NULL, NULL, 0);
END//

{define:procedure abandon}(IN lease_id BIGINT, IN ids LONGTEXT, IN error MEDIUMTEXT CHARACTER SET utf8mb4,
                           IN delay_seconds DECIMAL(20, 6), IN frees_key TINYINT)
{modifies} BEGIN
    CALL {settle_held}('abandon', lease_id, NULL, ids, error, delay_seconds, frees_key);
END//

{define:procedure abandon_by_owner}(IN owner VARCHAR(64) CHARACTER SET ascii, IN ids LONGTEXT,
                                    IN error MEDIUMTEXT CHARACTER SET utf8mb4, IN delay_seconds DECIMAL(20, 6),
                                    IN frees_key TINYINT)
{modifies} BEGIN
    DECLARE v_owner BINARY(16);
    CALL {owner_bytes}(owner, v_owner);
    CALL {settle_held}('abandon', NULL, v_owner, ids, error, delay_seconds, frees_key);
END//

{define:procedure fail}(IN lease_id BIGINT, IN ids LONGTEXT, IN error MEDIUMTEXT CHARACTER SET utf8mb4, IN frees_key TINYINT)
{modifies} BEGIN
    CALL {settle_held}('fail', lease_id, NULL, ids, error, NULL, frees_key);
END//

{define:procedure fail_by_owner}(IN owner VARCHAR(64) CHARACTER SET ascii, IN ids LONGTEXT,
                                 IN error MEDIUMTEXT CHARACTER SET utf8mb4, IN frees_key TINYINT)
{modifies} BEGIN
    DECLARE v_owner BINARY(16);
    CALL {owner_bytes}(owner, v_owner);
    CALL {settle_held}('fail', NULL, v_owner, ids, error, NULL, frees_key);
END//

-- Takes back all leases that have run out; yields how many.
{define:procedure reap}()
{modifies} BEGIN
    DECLARE v_round, v_born, v_total BIGINT DEFAULT 0;
    {own_transaction}
    CALL {begin_own}(v_own);
    REPEAT
        CALL {take_back}(1000, v_round);
        CALL {take_born}(0, {no_end}, 1000, v_born);
        SET v_total = v_total + v_round + v_born;
    UNTIL v_round < 1000 AND v_born < 1000 END REPEAT;
    {commit_own}
    SELECT v_total AS reaped;
END//
