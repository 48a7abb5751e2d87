-- For people who search among millions of messages.
-- Locks: those that 0022 has taken, while the indexes are built, a second or two for five million messages in
-- the history. Way back: DROP the two new indexes; the rest may stay as it is.

-- Dead messages by their number, to be counted and listed among any number of others that wait. Only a message that dies pays for it.
CREATE INDEX "{queue}_waiting_dead" ON {waiting} (seq) WHERE state = 3;

-- One number in 128, in an index that knows their order: it tells where a search that goes through the history bit by bit has come
-- after so many messages. A message costs less than a byte of it, all in all, and the question whether it is one of them.
CREATE INDEX "{queue}_done_milestone" ON {done} (seq) WHERE seq % 128 = 0;

-- The block index again, kept up by the autovacuum: what it does not know yet is read by every search.
CREATE INDEX "{queue}_done_numbers" ON {done} USING brin (seq) WITH (pages_per_range = 32, autosummarize = on);
DROP INDEX {schema}."{queue}_done_seq";
