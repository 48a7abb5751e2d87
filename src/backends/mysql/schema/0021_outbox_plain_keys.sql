-- Whether the idempotency key of a message was noted in {key}: always, for those who come through the library or the procedures. The
-- rule that asks for it comes with the routines, once those that set it are in place; until then the column is 1 by default. No row
-- is rewritten. This file may run twice. Way back: drop the constraint {queue}_key_goes_through_enqueue; the column
-- stays, because the procedures write it.
SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE {live} ADD COLUMN key_noted TINYINT NOT NULL DEFAULT 1')
  INTO @postroom_alter
  FROM information_schema.COLUMNS AS c
 WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = '{queue}_live' AND c.COLUMN_NAME = 'key_noted';
PREPARE postroom_alter FROM @postroom_alter;
EXECUTE postroom_alter;
DEALLOCATE PREPARE postroom_alter;
