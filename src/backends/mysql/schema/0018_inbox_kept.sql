-- What stays known of a message that is done, until it is purged: how often it failed and, where the store keeps history, its
-- content. Columns are added at once, without rewriting a row, and only if they are missing. Way back: DROP the columns.
SET @postroom_change = IF((SELECT COUNT(*) FROM information_schema.COLUMNS
                             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{queue}_key' AND COLUMN_NAME = 'payload') > 0,
                           'DO 0', 'ALTER TABLE {key} ADD COLUMN retry_count INT NOT NULL DEFAULT 0, ADD COLUMN content_type VARBINARY(1024), ADD COLUMN headers LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, ADD COLUMN payload LONGBLOB');
PREPARE postroom_change FROM @postroom_change;
EXECUTE postroom_change;
DEALLOCATE PREPARE postroom_change;
