{define:view key} AS
SELECT source, message_id, state, CASE WHEN queued = 1 THEN seq END AS seq, created_at AS first_seen, last_seen, processed_at,
       processed_by, topic, hash, last_error
  FROM {message}
GO
