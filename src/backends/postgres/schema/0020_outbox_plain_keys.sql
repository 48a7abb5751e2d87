-- The key of a plain INSERT is noted with the rights of whoever deployed: a writer has none on {key}, and needs none.
-- Locks: none on tables. Way back: ALTER FUNCTION {note_key}() SECURITY INVOKER.
ALTER FUNCTION {note_key}() SECURITY DEFINER;
