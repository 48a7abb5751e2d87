-- Every message in every state, for people and tools. An expired lease shows as ready, with its owner. Messages of the inbox that
-- are not queued have the number 0, and a payload if they are done.
{define:view view} AS
SELECT {row:live}, {view_extras} FROM {message} AS m WHERE m.queued = 1
{and_memory}
GO
-- Every message in every state, without its lease: nothing shows as in progress here.
{define:view status} AS
SELECT {resting_row} FROM {message} AS m WHERE m.queued = 1
{and_resting_memory}
GO
-- The parts of the view of all messages, for queries that have to reach a message by its number.
{define:view in_queue} AS
SELECT {row:live} FROM {message} AS m WHERE m.queued = 1
GO
{define:view in_memory} AS
SELECT {row:key} FROM {message} AS m WHERE m.queued = 0
GO
-- The names that the tables of other databases have. A plain INSERT goes to the first one, as everywhere.
{define:view live} AS
SELECT * FROM {message} WHERE queued = 1 AND waits = 0 AND state IN (0, 1)
GO
{define:view waiting} AS
SELECT * FROM {message} WHERE queued = 1 AND (state = 3 OR (waits = 1 AND state IN (0, 1)))
GO
{define:view lease} AS
SELECT seq, lease_id, locked_until, owner FROM {message} WHERE lease_id IS NOT NULL
GO
