-- A plain INSERT with an idempotency key is refused: only the procedures compare it with those that were used. The name of the rule
-- is what a writer is told. It stands behind the procedures that note a key, so that no deployment refuses what they write. Messages
-- with a key that are there already are marked once, or nobody could change them any more; those that are done nobody changes.
IF NOT EXISTS (SELECT 1 FROM sys.check_constraints AS c
                WHERE c.name = N'{queue}_key_goes_through_enqueue' AND c.parent_object_id = OBJECT_ID(N'{message}'))
BEGIN
    UPDATE {message} SET key_noted = 1 WHERE idempotency_key IS NOT NULL AND state <> 2;
    ALTER TABLE {message} WITH NOCHECK
      ADD CONSTRAINT {queue}_key_goes_through_enqueue CHECK (idempotency_key IS NULL OR key_noted = 1);
END
GO
