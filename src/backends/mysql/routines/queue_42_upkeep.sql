-- The procedures for any language, continued: what a worker does besides settling, and what an operator does. Each takes part in
-- the caller's transaction; where there is none it has one of its own.

-- The numbers in work-item ids, as two JSON arrays; a text that is no such id has none.
{define:procedure item_parts}(IN in_ids LONGTEXT, OUT out_seqs LONGTEXT, OUT out_nonces LONGTEXT)
{reads} BEGIN
    IF in_ids IS NULL THEN
        CALL {refuse}('ids: must not be NULL');
    ELSEIF NOT JSON_VALID(in_ids) OR JSON_TYPE(in_ids) <> 'ARRAY' THEN
        CALL {refuse}('ids: must be a JSON array of texts');
    END IF;
    SELECT COALESCE(JSON_ARRAYAGG(i.seq), '[]'), COALESCE(JSON_ARRAYAGG(i.nonce), '[]') INTO out_seqs, out_nonces
      FROM {given_items} AS i;
END//

-- Prolongs the lease on these messages to `lease_seconds` from now. Rows: seq of each that it still held.
{define:procedure extend}(IN lease_id BIGINT, IN ids LONGTEXT, IN lease_seconds INT)
{modifies} BEGIN
    DECLARE v_seqs, v_nonces LONGTEXT;
    DECLARE v_owner BINARY(16);
    DECLARE v_lease BIGINT DEFAULT lease_id;
    {own_transaction}
    IF v_lease IS NULL THEN
        CALL {refuse}('lease_id: must not be NULL');
    ELSEIF lease_seconds IS NULL OR lease_seconds <= 0 OR lease_seconds > {lease_seconds_max} THEN
        CALL {refuse}(CONCAT('lease: ', COALESCE(lease_seconds, 'NULL'), ' s, must be above 0 and at most {lease_seconds_max} s'));
    END IF;
    CALL {item_parts}(ids, v_seqs, v_nonces);
    SELECT COALESCE((SELECT MAX(l.owner) FROM {lease} AS l WHERE l.lease_id = v_lease),
                    (SELECT MAX(m.owner) FROM JSON_TABLE(v_seqs, {numbers}) AS s
                       STRAIGHT_JOIN {live} AS m ON m.seq = s.seq WHERE m.lease_id = v_lease))
      INTO v_owner;
    CALL {begin_own}(v_own);
    CALL {do_extend}(v_seqs, v_nonces, v_lease, v_owner, lease_seconds * 1000000);
    {commit_own}
END//

-- Gives back messages that were not tried: at once or after `delay_seconds`, and at no cost of an attempt. Yields how many.
{define:procedure hand_back}(IN lease_id BIGINT, IN ids LONGTEXT, IN delay_seconds DECIMAL(20, 6))
{modifies} BEGIN
    DECLARE v_held LONGTEXT;
    DECLARE v_seq, v_nonce, v_lease, v_changed BIGINT DEFAULT 0;
    DECLARE v_state TINYINT;
    DECLARE v_end BOOLEAN DEFAULT FALSE;
    DECLARE v_own BOOLEAN DEFAULT FALSE;
    DECLARE v_items CURSOR FOR SELECT s.seq, s.nonce, s.lease_id FROM JSON_TABLE(v_held, {lease_rows}) AS s;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;
    {undo_own}
    IF lease_id IS NULL THEN
        CALL {refuse}('lease_id: must not be NULL');
    ELSEIF delay_seconds < 0 OR delay_seconds > {delay_seconds_max} THEN
        CALL {refuse}(CONCAT('delay: ', delay_seconds, ' s, must be at least 0 and at most {delay_seconds_max} s'));
    END IF;
    CALL {begin_own}(v_own);
    CALL {held}(lease_id, NULL, ids, v_held);
    SET v_held = COALESCE(v_held, '[]'), v_end = FALSE;
    OPEN v_items;
    items: LOOP
        FETCH v_items INTO v_seq, v_nonce, v_lease;
        IF v_end THEN
            LEAVE items;
        END IF;
        CALL {release}(v_seq, v_nonce, v_lease, NULL, COALESCE(delay_seconds, 0) * 1000000, 0, 0, 0, v_state);
        SET v_changed = v_changed + (v_state IS NOT NULL), v_end = FALSE;
    END LOOP;
    CLOSE v_items;
    {commit_own}
    SELECT v_changed AS changed;
END//

-- Dead messages are ready again, as new; yields how many were dead.
{define:procedure redrive}(IN ids LONGTEXT)
{modifies} BEGIN
    DECLARE v_seqs, v_nonces LONGTEXT;
    {own_transaction}
    CALL {item_parts}(ids, v_seqs, v_nonces);
    CALL {begin_own}(v_own);
    CALL {do_redrive}(v_seqs, v_nonces);
    {commit_own}
END//

-- Removes a batch of done messages that are older. Yields how many, and 1 when somebody else is purging. To be called again until
-- both are 0.
{define:procedure purge}(IN older_than_seconds DECIMAL(20, 6), IN batch INT)
{modifies} BEGIN
    {own_transaction}
    IF older_than_seconds IS NULL OR older_than_seconds < 0 THEN
        CALL {refuse}('older_than: must not be NULL or negative');
    ELSEIF batch <= 0 OR batch > {batch_max} THEN
        CALL {refuse}(CONCAT('batch: ', batch, ', must be between 1 and {batch_max}'));
    END IF;
    CALL {begin_own}(v_own);
    CALL {do_purge}(older_than_seconds * 1000000, 7 * 86400 * 1000000, COALESCE(batch, 1000));
    {commit_own}
END//
