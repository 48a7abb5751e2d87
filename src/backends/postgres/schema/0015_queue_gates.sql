-- Tables without rows, to be locked: claims take turns at the first, the rounds of the janitor at the second, purges at the third.
-- A lock on a table needs rights on it, which an advisory lock does not: strangers cannot keep claims waiting. SHARE UPDATE
-- EXCLUSIVE conflicts with itself and with nothing that readers do, and costs no more than an advisory lock.
-- Locks: for a moment {live} and {waiting}, for the checks. Way back: DROP the tables and the constraints named here.
CREATE TABLE {claim_gate} ();
CREATE TABLE {look_gate} ();
CREATE TABLE {purge_gate} ();

-- Until when a lease of the longest kind may be held; as {longest_lease} it survives a crash. And the latest time that a claim has
-- seen: one that finds itself before that follows a clock that was put back. Milliseconds, as all notes.
CREATE SEQUENCE {longest_until};
CREATE UNLOGGED SEQUENCE {clock_seen};

-- Numbers fit into a work-item id. Rows that are there already are not looked at.
ALTER TABLE {live} ADD CONSTRAINT seq_fits_an_id CHECK (seq BETWEEN 1 AND 288230376151711743) NOT VALID;
ALTER TABLE {waiting} ADD CONSTRAINT seq_fits_an_id CHECK (seq BETWEEN 1 AND 288230376151711743) NOT VALID;
