-- What is forgotten: keys, and the history of the outbox.

-- Forgets up to in_batch keys: in the outbox idempotency keys, in the inbox messages that are done. One that somebody has locked
-- is passed by: a caller that finds its key taken, or sees a message again, keeps it locked until its transaction ends.
{define:procedure purge_keys}(IN in_before DATETIME(6), IN in_batch BIGINT, OUT out_count BIGINT)
{modifies} BEGIN
    DECLARE v_keys LONGTEXT;
    DECLARE v_share BIGINT DEFAULT LEAST(in_batch, 1000);  -- whose keys, at their widest, an aggregate can hold
    DECLARE v_chosen, v_passed, v_gone BIGINT DEFAULT 0;
    DECLARE v_full BOOLEAN;
    SET out_count = 0;
    REPEAT
        SELECT JSON_ARRAYAGG(JSON_ARRAY(HEX(d.a), HEX(d.b))), COUNT(*) INTO v_keys, v_chosen
          FROM (SELECT {key_pair} FROM {key} AS k FORCE INDEX ({key_by_time})
                 WHERE {key_is_old} ORDER BY {key_time} LIMIT v_passed, v_share) AS d;
        IF v_chosen > 0 THEN
            SELECT JSON_ARRAYAGG(JSON_ARRAY(HEX(d.a), HEX(d.b))), COUNT(*) INTO v_keys, v_gone
              FROM (SELECT {key_pair} FROM {chosen_keys} WHERE {key_is_old} FOR UPDATE SKIP LOCKED) AS d;
            IF v_gone > 0 THEN
                DELETE k FROM {chosen_keys};
            END IF;
            SET out_count = out_count + v_gone, v_passed = v_passed + v_chosen - v_gone;
        END IF;
        SET v_full = v_chosen = v_share, v_share = LEAST(in_batch - out_count, 1000);
    UNTIL NOT v_full OR v_share <= 0 END REPEAT;
END//

{define:procedure do_purge}(IN in_older_us BIGINT, IN in_window_us BIGINT, IN in_batch BIGINT)
{modifies} BEGIN
    DECLARE v_at DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_mine, v_history, v_keys BIGINT DEFAULT 0;
    SELECT COUNT(*) INTO v_mine
      FROM (SELECT g.name FROM {gate} AS g WHERE g.name = 'purge' FOR UPDATE SKIP LOCKED) AS d;
    IF v_mine > 0 THEN
        {purge_history}
        CALL {purge_keys}(v_at - INTERVAL {keys_last} MICROSECOND, in_batch, v_keys);
    END IF;
    SELECT v_history + v_keys AS purged, v_mine = 0 AS busy;
END//
