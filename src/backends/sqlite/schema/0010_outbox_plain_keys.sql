-- A plain INSERT with an idempotency key is held to it as the library is: the key is noted in {key}, and a second message of that
-- tenant with the same key is refused, for as long as keys are kept. Whoever noted the key before the message is known by the nonce.
-- Way back: DROP TRIGGER {live_keyed}.
CREATE TRIGGER {live_keyed} AFTER INSERT ON {live} WHEN NEW.idempotency_key IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'UNIQUE constraint failed: tenant_id, idempotency_key: there is a message with this key')
    FROM {key}
    WHERE tenant_id = NEW.tenant_id AND idempotency_key = NEW.idempotency_key AND nonce <> NEW.nonce;
    INSERT OR IGNORE INTO {key} (tenant_id, idempotency_key, seq, nonce, message_id, created_at)
    VALUES (NEW.tenant_id, NEW.idempotency_key, NEW.seq, NEW.nonce, NEW.message_id, NEW.created_at);
END;
