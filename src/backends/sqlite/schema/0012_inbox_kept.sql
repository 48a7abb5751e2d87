-- What stays known of a message that is done, until it is purged: how often it failed and, where the store keeps history, its
-- content. Way back: DROP the columns.
ALTER TABLE {key} ADD COLUMN retry_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {key} ADD COLUMN content_type TEXT;
ALTER TABLE {key} ADD COLUMN headers TEXT;
ALTER TABLE {key} ADD COLUMN payload ANY;
