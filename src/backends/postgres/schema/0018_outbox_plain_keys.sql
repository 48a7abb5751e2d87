-- A plain INSERT with an idempotency key is held to it as the library and the functions are: the key is noted in {key}, and a
-- second message of that tenant with the same key is refused (unique_violation), for as long as keys are kept.
-- Locks: {live} against writers, for a moment. Way back: DROP TRIGGER "{queue}_live_keyed" ON {live}; DROP FUNCTION {note_key}().

-- Whoever noted the key before the message is known by the nonce.
CREATE FUNCTION {note_key}() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM FROM {key} k
      WHERE k.tenant_id = NEW.tenant_id AND k.idempotency_key = NEW.idempotency_key AND k.nonce = NEW.nonce;
    IF NOT FOUND THEN
        INSERT INTO {key} (tenant_id, idempotency_key, seq, nonce, message_id, created_at)
        VALUES (NEW.tenant_id, NEW.idempotency_key, NEW.seq, NEW.nonce, NEW.message_id, NEW.created_at);
    END IF;
    RETURN NULL;
END $$;
-- A message without a key pays for the question alone.
CREATE TRIGGER "{queue}_live_keyed" AFTER INSERT ON {live}
    FOR EACH ROW WHEN (NEW.idempotency_key IS NOT NULL) EXECUTE FUNCTION {note_key}();
