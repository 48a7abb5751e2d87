-- Whether the idempotency key of a message was noted in {key}: always, for those who come through the library or the procedures. The
-- rule that asks for it comes with the routines, once those that set it are in place. Locks: {message}, for a
-- moment on the Enterprise edition and Azure, elsewhere until its rows are rewritten. Way back: drop the constraint {queue}_key_goes_through_enqueue; the column stays, because the procedures write it.
ALTER TABLE {message} ADD key_noted TINYINT NOT NULL CONSTRAINT {queue}_key_noted_no DEFAULT 0
GO
