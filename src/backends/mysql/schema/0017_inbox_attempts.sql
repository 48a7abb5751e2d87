-- When a message died, and its last failed deliveries, as in the outbox. A message that is done has neither. Way back: DROP the
-- columns.
SET @postroom_change = IF((SELECT COUNT(*) FROM information_schema.COLUMNS
                             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{queue}_waiting' AND COLUMN_NAME = 'attempts') > 0,
                           'DO 0', 'ALTER TABLE {waiting} ADD COLUMN died_at DATETIME(6), ADD COLUMN attempts LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
PREPARE postroom_change FROM @postroom_change;
EXECUTE postroom_change;
DEALLOCATE PREPARE postroom_change;
