-- A message that comes without an id gets a ULID, as the library makes them.
ALTER TABLE {message} DROP CONSTRAINT {queue}_message_id_new;
ALTER TABLE {message} ADD CONSTRAINT {queue}_message_id_new DEFAULT ({new_message_id}) FOR message_id;
GO
