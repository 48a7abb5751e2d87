-- Claim: choose and lease, then read. Claims take turns at an application lock of their transaction, so what one of them sees is what
-- the claims before it left, also where the server reads without row locks. The hints are for a server that knows them: a row
-- that somebody has locked is passed by. Every choice walks an index in its order and stops when it has enough. The messages are
-- read after the commit, so that nobody waits for a client.

-- Takes back up to @limit leases that have run out.
{define:procedure take_back} @limit BIGINT, @count BIGINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME(), @room BIGINT = 0, @took BIGINT = 0;
    SET @count = 0;
    WHILE @took = @room AND @count < @limit
    BEGIN
        SET @room = CASE WHEN @limit - @count < 1000 THEN @limit - @count ELSE 1000 END;
        UPDATE {message}
           SET lost_count = lost_count + CASE WHEN state = 1 THEN 1 ELSE 0 END,
               next_attempt_at = CASE WHEN state = 1 THEN @now ELSE next_attempt_at END,
               state = CASE WHEN state = 1 THEN 0 ELSE state END, waits = 1, {no_lease}
         WHERE lease_id IS NOT NULL AND locked_until <= @now
           AND seq IN (SELECT TOP (@room) m.seq FROM {message} AS m WITH ({take})
                        WHERE m.lease_id IS NOT NULL AND m.locked_until <= @now ORDER BY m.locked_until);
        SET @took = @@ROWCOUNT;
        SET @count = @count + @took;
    END
END
GO
-- Leases messages of one band until so many are leased in all as @ceiling says: see queue/claim_passes.hpp.
{define:procedure lease_pass} @band NVARCHAR(8), @ceiling BIGINT, @now DATETIME2(6), @owner BINARY(16), @lease_id BIGINT,
    @until DATETIME2(6), @leased BIGINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @room BIGINT = 0, @took BIGINT = 0;
    WHILE @took = @room AND @leased < @ceiling
    BEGIN
        SET @room = CASE WHEN @ceiling - @leased < 1000 THEN @ceiling - @leased ELSE 1000 END;
        SET @took = 0;
        IF @band = N'urgent'
        BEGIN
            {lease_first} AND m.waits = 0 AND m.ordering_key IS NULL AND m.priority > 0 ORDER BY m.priority DESC, m.seq);
            SET @took = @@ROWCOUNT;
        END
        IF @band = N'fresh'
        BEGIN
            {lease_first} AND m.waits = 0 AND m.ordering_key IS NULL AND m.priority >= 0 ORDER BY m.seq);
            SET @took = @@ROWCOUNT;
        END
        IF @band = N'due'
        BEGIN
            {lease_first} AND m.waits = 1 AND m.ordering_key IS NULL AND m.priority >= 0 ORDER BY m.available_at, m.seq);
            SET @took = @@ROWCOUNT;
        END
        IF @band = N'low'
        BEGIN
            {lease_first} AND m.priority < 0 AND m.ordering_key IS NULL ORDER BY m.available_at, m.seq);
            SET @took = @@ROWCOUNT;
        END
        -- A message may come to stand before one that is leased: then it waits.
        IF @band = N'keyed'
        BEGIN
            {lease_first} AND m.behind = 0 AND m.ordering_key IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM {message} AS b WHERE {of_same_line} AND (b.seq < m.seq OR b.state = 1))
                ORDER BY m.available_at, m.seq);
            SET @took = @@ROWCOUNT;
        END
        SET @leased = @leased + @took;
    END
END
GO
-- Puts the messages of ordering keys in line: of each key that a message has left, the first one comes forward, and what is found to
-- stand behind another is not looked at again until then.
{define:procedure line_up} @now DATETIME2(6) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @freed TABLE (ordering_key {text} NOT NULL);
    DELETE TOP (1000) FROM {turn} WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK) OUTPUT deleted.ordering_key INTO @freed;
    UPDATE {message} SET behind = 0
     WHERE behind = 1
       AND seq IN (SELECT MIN(b.seq) FROM {message} AS b JOIN @freed AS f
                       ON b.ordering_key = f.ordering_key AND b.ordering_bytes = DATALENGTH(f.ordering_key)
                    WHERE b.queued = 1 AND b.frees_key = 0 AND b.state IN (0, 1, 3)
                    GROUP BY b.ordering_key, b.ordering_bytes);
    UPDATE {message} SET behind = 1
     WHERE behind = 0
       AND seq IN (SELECT TOP (1000) m.seq FROM {message} AS m
                    WHERE m.state = 0 AND m.queued = 1 AND m.behind = 0 AND m.ordering_key IS NOT NULL
                      AND m.available_at <= @now
                      AND EXISTS (SELECT 1 FROM {message} AS b WHERE {of_same_line} AND b.seq < m.seq)
                    ORDER BY m.available_at, m.seq);
END
GO
-- Leases up to @batch messages, pass by pass, in a transaction of its own. @until: when their leases end.
{define:procedure lease_batch} @owner BINARY(16), @lease_id BIGINT, @lease_us BIGINT, @batch BIGINT, @urgent_to BIGINT,
    @keyed_to BIGINT, @due_to BIGINT, @low_to BIGINT, @keyed_again_to BIGINT, @until DATETIME2(6) OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @now DATETIME2(6), @chosen DATETIME2(6), @leased BIGINT = 0, @lost BIGINT, @keyed BIGINT = 0;
    IF @@TRANCOUNT > 0
        THROW 51000, N'a claim must be a transaction of its own, or it would keep all others waiting', 1;
    BEGIN TRY
        BEGIN TRANSACTION;
        {lock_claims}
        EXEC {take_back} @batch, @lost OUTPUT;
        SET @now = SYSUTCDATETIME();
        SET @until = {later}(@now, @lease_us);
        SELECT @keyed = COUNT(*) FROM (SELECT TOP (1) m.seq FROM {message} AS m
            WHERE m.state = 0 AND m.queued = 1 AND m.ordering_key IS NOT NULL) AS k;
        IF @keyed > 0 EXEC {line_up} @now;
        EXEC {lease_pass} N'urgent', @urgent_to, @now, @owner, @lease_id, @until, @leased OUTPUT;
        IF @keyed > 0 EXEC {lease_pass} N'keyed', @keyed_to, @now, @owner, @lease_id, @until, @leased OUTPUT;
        EXEC {lease_pass} N'due', @due_to, @now, @owner, @lease_id, @until, @leased OUTPUT;
        EXEC {lease_pass} N'low', @low_to, @now, @owner, @lease_id, @until, @leased OUTPUT;
        EXEC {lease_pass} N'fresh', @batch, @now, @owner, @lease_id, @until, @leased OUTPUT;
        IF @keyed > 0 EXEC {lease_pass} N'keyed', @keyed_again_to, @now, @owner, @lease_id, @until, @leased OUTPUT;
        EXEC {lease_pass} N'due', @batch, @now, @owner, @lease_id, @until, @leased OUTPUT;
        IF @keyed > 0 EXEC {lease_pass} N'keyed', @batch, @now, @owner, @lease_id, @until, @leased OUTPUT;
        EXEC {lease_pass} N'low', @batch, @now, @owner, @lease_id, @until, @leased OUTPUT;
        -- Choosing may take long, as when a session compiles these procedures: the time that a worker was promised begins now.
        SET @chosen = SYSUTCDATETIME();
        IF @leased > 0 AND DATEDIFF_BIG(MICROSECOND, @now, @chosen) > @lease_us / 4
        BEGIN
            UPDATE {message} SET locked_until = {later}(@chosen, @lease_us) WHERE locked_until = @until AND lease_id = @lease_id;
            SET @until = {later}(@chosen, @lease_us);
        END
        COMMIT;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK;
        THROW;
    END CATCH
END
GO
-- Messages that go beyond @bytes in all come without payload and headers, and the last column tells how many they take. The first one
-- does not, unless it goes beyond @bytes_of_one.
{define:procedure do_claim} @owner BINARY(16), @lease_id BIGINT, @lease_us BIGINT, @batch BIGINT, @urgent_to BIGINT,
    @keyed_to BIGINT, @due_to BIGINT, @low_to BIGINT, @keyed_again_to BIGINT, @bytes BIGINT, @bytes_of_one BIGINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @until DATETIME2(6);
    EXEC {lease_batch} @owner, @lease_id, @lease_us, @batch, @urgent_to, @keyed_to, @due_to, @low_to, @keyed_again_to, @until OUTPUT;
    SELECT {claimed_row}, CASE WHEN b.beyond = 1 THEN b.bytes END AS content_bytes
      FROM (SELECT s.seq, s.bytes, CASE WHEN s.in_all > @bytes AND (s.in_all > s.bytes OR s.bytes > @bytes_of_one)
                                        THEN 1 ELSE 0 END AS beyond
              FROM (SELECT c.seq, c.bytes, SUM(c.bytes) OVER (ORDER BY c.seq) AS in_all
                      FROM (SELECT m.seq, CAST(DATALENGTH(m.payload) + COALESCE(LEN(m.headers), 0) AS BIGINT) AS bytes
                              FROM {message} AS m WHERE m.locked_until = @until AND m.lease_id = @lease_id) AS c) AS s) AS b
      JOIN {message} AS m ON m.seq = b.seq
     WHERE m.lease_id = @lease_id;
END
GO
