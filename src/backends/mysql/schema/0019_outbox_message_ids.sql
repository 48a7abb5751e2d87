-- A message that comes without an id gets a ULID, as the library makes them. No row is rewritten. Way back: ALTER COLUMN message_id
-- SET DEFAULT (UUID()).
ALTER TABLE {live} ALTER COLUMN message_id SET DEFAULT ({new_message_id});
