-- A plain INSERT with an idempotency key is refused: only the procedures compare it with those that were used. The name of the rule
-- is what a writer is told. It stands behind the procedures that note a key, so that no deployment refuses what they write. On
-- MariaDB no row is looked at; MySQL copies {live} once.
SET /*M! check_constraint_checks = 0, */ @postroom_rule = '{queue}_key_goes_through_enqueue'//
SELECT IF(COUNT(*) > 0, 'DO 0',
          CONCAT('ALTER TABLE {live} ALTER COLUMN key_noted SET DEFAULT 0, ADD CONSTRAINT `', @postroom_rule,
                 '` CHECK (idempotency_key IS NULL OR key_noted = 1)'))
  INTO @postroom_alter
  FROM information_schema.TABLE_CONSTRAINTS AS c
 WHERE c.CONSTRAINT_SCHEMA = DATABASE() AND c.TABLE_NAME = '{queue}_live' AND c.CONSTRAINT_NAME = @postroom_rule//
PREPARE postroom_alter FROM @postroom_alter//
EXECUTE postroom_alter//
DEALLOCATE PREPARE postroom_alter//
SET /*M! check_constraint_checks = 1, */ @postroom_alter = NULL//
