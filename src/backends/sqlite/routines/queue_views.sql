-- Every message in every state, for people and tools. An expired lease shows as ready, with its owner. Messages of the
-- inbox that are not queued have the number 0, and a payload if they are done.
{define:view view} ({columns:row}, owner_token, is_processed, next_attempt_at, status, status_name, attempt{first_seen_name}) AS
SELECT {columns:row}, {owner_text}, state = 2, available_at, state, {state_word}, retry_count{first_seen_value}
FROM (SELECT {row:live} FROM {live} AS m {with_key} {with_lease}
      UNION ALL
      SELECT {row:waiting} FROM {waiting} AS m {with_key} {with_lease}
      UNION ALL
      {settled});

-- Every message without its lease: nothing is in progress here.
{define:view status} AS
SELECT {unleased_row}, is_processed, next_attempt_at, iif(status = 1, 0, status) AS status FROM {view};
