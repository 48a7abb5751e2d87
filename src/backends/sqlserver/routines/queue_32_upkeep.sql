-- What keeps a queue tidy.

{define:procedure do_reap} @limit BIGINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @count BIGINT;
    {begin_unit}
        EXEC {take_back} @limit, @count OUTPUT;
    {end_unit}
    SELECT @count AS reaped;
END
GO
-- One batch of what is forgotten, in statements of at most 1000 rows. One purger at a time, and never one that waits.
{define:procedure do_purge} @older_us BIGINT, @window_us BIGINT, @batch BIGINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @locked INT, @count BIGINT = 0, @room BIGINT, @took BIGINT, @gone BIGINT;
    DECLARE @before DATETIME2(6) = {later}(SYSUTCDATETIME(), -@older_us),
            @keys_before DATETIME2(6) = {later}(SYSUTCDATETIME(), -@window_us);
    {begin_unit}
        EXEC @locked = sp_getapplock @Resource = N'postroom {schema}.{queue} purge', @LockMode = 'Exclusive', @LockOwner = 'Transaction',
            @LockTimeout = 0;
        IF @locked >= 0
        BEGIN
            {purge_messages}
            {purge_keys}
        END
    {end_unit}
    SELECT @count AS purged, CASE WHEN @locked < 0 THEN 1 ELSE 0 END AS busy;
END
GO
-- Dead messages become ready, or in progress where an operator holds them.
{define:procedure do_redrive} @seqs NVARCHAR(MAX), @nonces NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    UPDATE {message}
       SET state = CASE WHEN lease_id IS NULL THEN 0 ELSE 1 END, dead_reason = NULL, last_error = NULL, retry_count = 0,
           lost_count = 0, next_attempt_at = SYSUTCDATETIME(), waits = 1, frees_key = 0, behind = 0
     WHERE {these} AND queued = 1 AND state = 3;
    SELECT @@ROWCOUNT AS redriven;
END
GO
-- Messages that wait for their next attempt are available at once, or at their due time.
{define:procedure do_retry_now} @seqs NVARCHAR(MAX), @nonces NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME();
    UPDATE {message} SET next_attempt_at = CASE WHEN due_time > @now THEN due_time ELSE @now END
     WHERE {these} AND queued = 1 AND state = 0 AND lease_id IS NULL AND available_at > @now
       AND (due_time IS NULL OR available_at > due_time);
    SELECT @@ROWCOUNT AS changed;
END
GO
