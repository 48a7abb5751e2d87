-- The memory of the inbox: one row for each message ever heard of, until it is purged. Source and message id may be longer together
-- than an index entry, so they are found by their hash.
CREATE UNIQUE INDEX {queue}_key_pair ON {message} (key_hash);
CREATE INDEX {queue}_key_by_message_id ON {message} (message_id);
CREATE INDEX {queue}_key_done ON {message} (last_seen) WHERE state = 2;
CREATE INDEX {queue}_key_open ON {message} (state) WHERE queued = 0;
GO
