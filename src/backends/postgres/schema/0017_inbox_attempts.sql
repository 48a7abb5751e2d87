-- When a message died, and its last failed deliveries, as in the outbox. A message that is done has neither.
-- Locks: ACCESS EXCLUSIVE on {waiting} for a moment; no row is rewritten. Way back: DROP the columns.
ALTER TABLE {waiting} ADD COLUMN died_at timestamptz, ADD COLUMN attempts jsonb;
