-- What a plain INSERT may bring; there are no roles that could forbid it. Payload and headers: the limits of the library that deploys.
-- Numbers: within a statement the counter still says which was the last before it. A message never takes a number that
-- was given out, and cannot use up those that are left; one in {waiting} has the number of no other message.
{define:trigger live_guard} AFTER INSERT ON {live}
WHEN length(CAST(NEW.payload AS BLOB)) > {max_payload_bytes}
     OR length(CAST(NEW.headers AS BLOB)) > {headers_text_bytes}
     OR NEW.seq NOT BETWEEN 1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{queue}_live'), 0)
                        AND 1000000 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{queue}_live'), 0)
BEGIN
    SELECT CASE
        WHEN length(CAST(NEW.payload AS BLOB)) > {max_payload_bytes}
        THEN RAISE(ABORT, 'payload: at most {max_payload_bytes} bytes allowed (max_payload_bytes)')
        WHEN length(CAST(NEW.headers AS BLOB)) > {headers_text_bytes}
        THEN RAISE(ABORT, 'headers: at most {headers_text_bytes} bytes allowed')
        ELSE RAISE(ABORT, 'seq: is given by the database') END;
END;

{define:trigger waiting_guard} BEFORE INSERT ON {waiting}
WHEN NEW.seq NOT BETWEEN 1 AND coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{queue}_live'), 0)
     OR EXISTS (SELECT 1 FROM {live} AS v WHERE v.seq = NEW.seq AND v.nonce <> NEW.nonce)
BEGIN
    SELECT RAISE(ABORT, 'seq: must be drawn from {queue}_live');
END;
