-- Settling. Whoever settles names number, nonce and lease id of a message in the one UPDATE that changes it; what does not match is
-- a lost lease and stays as it is. A unit runs in the caller's transaction, or else in one of its own.

-- The messages of one lease are done: kept as history, or gone. The inbox remembers them in any case.
{define:procedure finish} @seqs NVARCHAR(MAX), @nonces NVARCHAR(MAX), @lease_id BIGINT, @owner_text NVARCHAR(36),
    @keep_history TINYINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @gone TABLE (seq BIGINT NOT NULL, ordering_key {text} NULL);
    {begin_unit}
        IF {is_forgotten}
            DELETE FROM {message} OUTPUT deleted.seq, deleted.ordering_key INTO @gone
             WHERE {these} AND lease_id = @lease_id;
        ELSE
            UPDATE {message}
               SET {set_done}, processed_at = SYSUTCDATETIME(), processed_by = @owner_text, dead_reason = NULL, behind = 0,
                   {no_lease}
            OUTPUT inserted.seq, inserted.ordering_key INTO @gone
             WHERE {these} AND lease_id = @lease_id;
        INSERT INTO {turn} (ordering_key) SELECT g.ordering_key FROM @gone AS g WHERE g.ordering_key IS NOT NULL;
    {end_unit}
    SELECT g.seq FROM @gone AS g;
END
GO
-- Adds a failed attempt, a JSON object, to those of a message that has just been settled; the last ones are kept. NULL: there was none.
{define:procedure note_attempt} @seq BIGINT, @attempt NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    IF @attempt IS NULL RETURN;
    DECLARE @known NVARCHAR(MAX), @kept NVARCHAR(MAX);
    SELECT @known = m.attempts FROM {message} AS m WHERE m.seq = @seq;
    SELECT @kept = STRING_AGG(a.value, N',') WITHIN GROUP (ORDER BY CAST(a.[key] AS INT))
      FROM OPENJSON(@known) AS a
     WHERE CAST(a.[key] AS INT) > (SELECT COUNT(*) FROM OPENJSON(@known)) - {attempts_kept};
    SET @attempt = STUFF(@attempt, 1, 1, CONCAT(N'{"at":', DATEDIFF_BIG(MICROSECOND, '1970-01-01', SYSUTCDATETIME()), N','));
    UPDATE {message} SET attempts = CONCAT(N'[', @kept + N',', @attempt, N']') WHERE seq = @seq;
END
GO
-- Gives a message back, to be tried again after a delay, or dead when its attempts are used up. @state NULL: the lease was lost.
{define:procedure release} @seq BIGINT, @nonce BIGINT, @lease_id BIGINT, @error NVARCHAR(MAX), @delay_us BIGINT,
    @count_attempt TINYINT, @max_attempts BIGINT, @frees_key TINYINT, @attempt NVARCHAR(MAX), @state TINYINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @changed TABLE (state TINYINT NOT NULL, ordering_key {text} NULL);
    DECLARE @at DATETIME2(6) = {later}(SYSUTCDATETIME(), @delay_us);
    SET @state = NULL;
    {begin_unit}
        UPDATE {message}
           SET state = CASE WHEN {exhausted} THEN 3 ELSE 0 END, dead_reason = CASE WHEN {exhausted} THEN N'max_attempts' END,
               next_attempt_at = CASE WHEN {exhausted} THEN available_at WHEN expires_at < @at THEN expires_at ELSE @at END,
               died_at = SYSUTCDATETIME(),
               retry_count = retry_count + @count_attempt, last_error = COALESCE(@error, last_error), waits = 1,
               frees_key = CASE WHEN {exhausted} AND @frees_key <> 0 AND ordering_key IS NOT NULL THEN 1 ELSE 0 END, {no_lease}
        OUTPUT inserted.state, inserted.ordering_key INTO @changed
         WHERE seq = @seq AND nonce = @nonce AND lease_id = @lease_id;
        INSERT INTO {turn} (ordering_key)
        SELECT c.ordering_key FROM @changed AS c WHERE c.ordering_key IS NOT NULL AND c.state = 3 AND @frees_key <> 0;
        SELECT @state = c.state FROM @changed AS c;
        IF @state IS NOT NULL EXEC {note_attempt} @seq, @attempt;
    {end_unit}
END
GO
{define:procedure do_retry} @seq BIGINT, @nonce BIGINT, @lease_id BIGINT, @error NVARCHAR(MAX), @delay_us BIGINT,
    @count_attempt TINYINT, @max_attempts BIGINT, @frees_key TINYINT, @attempt NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @state TINYINT;
    EXEC {release} @seq, @nonce, @lease_id, @error, @delay_us, @count_attempt, @max_attempts, @frees_key, @attempt,
        @state OUTPUT;
    SELECT @seq AS seq, @state AS state WHERE @state IS NOT NULL;
END
GO
-- With an attempt it died of that, which counts. @killed: whether the lease stood.
{define:procedure kill} @seq BIGINT, @nonce BIGINT, @lease_id BIGINT, @error NVARCHAR(MAX), @reason NVARCHAR(64),
    @frees_key TINYINT, @attempt NVARCHAR(MAX), @killed TINYINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    {begin_unit}
        UPDATE {message}
           SET state = 3, dead_reason = @reason, died_at = SYSUTCDATETIME(),
               retry_count = retry_count + CASE WHEN @attempt IS NULL THEN 0 ELSE 1 END, last_error = COALESCE(@error, last_error), waits = 1,
               frees_key = CASE WHEN @frees_key <> 0 AND ordering_key IS NOT NULL THEN 1 ELSE 0 END, {no_lease}
         WHERE seq = @seq AND nonce = @nonce AND lease_id = @lease_id;
        SET @killed = @@ROWCOUNT;
        INSERT INTO {turn} (ordering_key)
        SELECT m.ordering_key FROM {message} AS m
         WHERE m.seq = @seq AND m.nonce = @nonce AND m.frees_key = 1 AND @killed = 1;
        IF @killed = 1 EXEC {note_attempt} @seq, @attempt;
    {end_unit}
END
GO
{define:procedure do_fail} @seq BIGINT, @nonce BIGINT, @lease_id BIGINT, @error NVARCHAR(MAX), @reason NVARCHAR(64),
    @frees_key TINYINT, @attempt NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @killed TINYINT;
    EXEC {kill} @seq, @nonce, @lease_id, @error, @reason, @frees_key, @attempt, @killed OUTPUT;
    SELECT @seq AS seq WHERE @killed = 1;
END
GO
-- Prolongs the leases that stand, also those that have run out and were not taken back. Nobody waits for a message that somebody has
-- locked: one open transaction must not keep the other leases from being prolonged. Such a lease stands for as long as it has time
-- left. What an open transaction has settled counts as lost: its lease is gone there, and nobody can see the row as it was.
{define:procedure do_extend} @seqs NVARCHAR(MAX), @nonces NVARCHAR(MAX), @lease_id BIGINT, @lease_us BIGINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @standing TABLE (seq BIGINT NOT NULL);
    UPDATE {message} WITH ({take}) SET locked_until = {later}(SYSUTCDATETIME(), @lease_us)
    OUTPUT inserted.seq INTO @standing
     WHERE {these} AND lease_id = @lease_id;
    IF (SELECT COUNT(*) FROM @standing) < (SELECT COUNT(*) FROM OPENJSON(@seqs))
        INSERT INTO @standing (seq)
        SELECT m.seq FROM {message} AS m WITH (READUNCOMMITTED)
         WHERE {these} AND m.seq NOT IN (SELECT s.seq FROM @standing AS s)
           AND m.lease_id = @lease_id AND m.locked_until > SYSUTCDATETIME();
    SELECT s.seq FROM @standing AS s;
END
GO
-- Leases messages, dead or ready, of which nobody holds a lease that stands; what somebody has locked is passed by.
{define:procedure do_hold} @seqs NVARCHAR(MAX), @nonces NVARCHAR(MAX), @lease_id BIGINT, @owner BINARY(16), @lease_us BIGINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME();
    UPDATE {message} WITH ({take})
       SET state = CASE WHEN state = 3 THEN 3 ELSE 1 END, lease_id = @lease_id, owner = @owner, waits = 1,
           locked_until = {later}(@now, @lease_us)
    OUTPUT inserted.seq
     WHERE {these} AND queued = 1 AND state IN (0, 1, 3) AND (lease_id IS NULL OR locked_until <= @now);
END
GO
