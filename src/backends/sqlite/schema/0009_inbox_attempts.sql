-- When a message died, and its last failed deliveries, as in the outbox. A message that is done has neither.
ALTER TABLE {waiting} ADD COLUMN died_at INTEGER;
ALTER TABLE {waiting} ADD COLUMN attempts TEXT;
