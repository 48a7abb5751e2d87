-- Receiving: what becomes of a message that arrives, for the first time or again. Whoever works on a message locks its row with the
-- first UPDATE, so that what it reads afterwards stands until its transaction ends.

-- Notes that a message was seen. @found 0: nobody had heard of it, and it is noted as @state with the given content.
{define:procedure note} {declared:receive}, @key_hash BINARY(32), @state TINYINT, @queued TINYINT, @found TINYINT OUTPUT,
    @seq BIGINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME();
    UPDATE {message} SET last_seen = @now WHERE key_hash = @key_hash;
    SET @found = @@ROWCOUNT;
    IF @found = 1 RETURN;
    BEGIN TRY
        INSERT INTO {message} ({columns:receive}, key_hash, state, queued, created_at, last_seen, waits)
        VALUES ({inputs:receive}, @key_hash, @state, @queued, @now, @now,
                CASE WHEN @due_time > @now OR @priority < 0 OR @ordering_key IS NOT NULL THEN 1 ELSE 0 END);
        SET @seq = SCOPE_IDENTITY();
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() NOT IN (2601, 2627) THROW;
        -- Somebody else was first.
        UPDATE {message} SET last_seen = @now WHERE key_hash = @key_hash;
        SET @found = @@ROWCOUNT;
        IF @found = 0 THROW;
    END CATCH
END
GO
-- New content for a message that is there. It keeps its number; what it had lived through too, unless it is revived.
{define:procedure renew} {declared:receive}, @key_hash BINARY(32), @stays_dead TINYINT, @revived TINYINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME();
    DECLARE @at DATETIME2(6) = CASE WHEN @due_time > @now THEN @due_time ELSE @now END;
    INSERT INTO {turn} (ordering_key)
    SELECT m.ordering_key FROM {message} AS m WHERE m.key_hash = @key_hash AND m.ordering_key IS NOT NULL;
    UPDATE {message}
       SET {renewed}, hash = COALESCE(@hash, hash), waits = 1, behind = 0,
           next_attempt_at = CASE WHEN @stays_dead = 1 THEN available_at WHEN @expires_at < @at THEN @expires_at ELSE @at END,
           frees_key = CASE WHEN @stays_dead = 1 AND @ordering_key IS NOT NULL THEN frees_key ELSE 0 END,
           state = CASE WHEN @stays_dead = 1 THEN 3 ELSE 0 END,
           dead_reason = CASE WHEN @stays_dead = 1 THEN dead_reason END,
           retry_count = CASE WHEN @revived = 1 THEN 0 ELSE retry_count END,
           lost_count = CASE WHEN @revived = 1 THEN 0 ELSE lost_count END,
           last_error = CASE WHEN @revived = 1 THEN NULL ELSE last_error END
     WHERE key_hash = @key_hash;
END
GO
-- Content for a message that was only remembered: it is numbered now, behind those that were queued before it.
{define:procedure requeue} {declared:receive}, @key_hash BINARY(32), @stays_dead TINYINT, @seq BIGINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME();
    DECLARE @first DATETIME2(6), @known VARBINARY(1024), @error NVARCHAR(MAX);
    SELECT @first = m.created_at, @known = m.hash, @error = m.last_error FROM {message} AS m WHERE m.key_hash = @key_hash;
    DELETE FROM {message} WHERE key_hash = @key_hash;
    SET @hash = COALESCE(@hash, @known);
    INSERT INTO {message} ({columns:receive}, key_hash, created_at, last_seen, died_at, waits, state, dead_reason, last_error)
    VALUES ({inputs:receive}, @key_hash, @first, @now, @now,
            CASE WHEN @stays_dead = 1 OR @due_time > @now OR @priority < 0 OR @ordering_key IS NOT NULL THEN 1 ELSE 0 END,
            CASE WHEN @stays_dead = 1 THEN 3 ELSE 0 END, CASE WHEN @stays_dead = 1 THEN N'failed' END,
            CASE WHEN @stays_dead = 1 THEN @error END);
    SET @seq = SCOPE_IDENTITY();
END
GO
-- Stores or refreshes a message; see Store::receive. @seq NULL: done before. @previous NULL: never heard of.
{define:procedure take_in} {declared:receive}, @revive TINYINT, @seq BIGINT OUTPUT, @stored_nonce BIGINT OUTPUT,
    @previous TINYINT OUTPUT, @mismatch TINYINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @key_hash BINARY(32) = {hash_of}(@source, @message_id);
    DECLARE @found TINYINT, @state TINYINT, @queued TINYINT, @leased TINYINT, @stays_dead TINYINT, @revived TINYINT,
            @known_seq BIGINT, @known_nonce BIGINT;
    SET @previous = NULL;
    SET @mismatch = 0;
    SET @stored_nonce = @nonce;
    {begin_unit}
        EXEC {note} {inputs:receive}, @key_hash, 0, 1, @found OUTPUT, @seq OUTPUT;
        IF @found = 1
        BEGIN
            SELECT @state = m.state, @queued = m.queued, @known_seq = m.seq, @known_nonce = m.nonce, @previous = {found_state},
                   @leased = CASE WHEN m.lease_id IS NULL THEN 0 ELSE 1 END,
                   @mismatch = CASE WHEN m.hash <> @hash THEN 1 ELSE 0 END
              FROM {message} AS m WHERE m.key_hash = @key_hash;
            SET @stays_dead = CASE WHEN @state = 3 AND @revive = 0 THEN 1 ELSE 0 END;
            SET @revived = CASE WHEN @state = 3 AND @revive <> 0 THEN 1 ELSE 0 END;
            SET @seq = CASE WHEN @state <> 2 THEN @known_seq END;
            -- A lease that has run out counts too: its holder may still settle what it was given.
            IF @state = 2 OR @leased = 1
                UPDATE {message} SET hash = COALESCE(hash, @hash) WHERE key_hash = @key_hash;
            ELSE IF @queued = 1
                EXEC {renew} {inputs:receive}, @key_hash, @stays_dead, @revived;
            ELSE
                EXEC {requeue} {inputs:receive}, @key_hash, @stays_dead, @seq OUTPUT;
            IF @queued = 1 SET @stored_nonce = @known_nonce;
        END
    {end_unit}
END
GO
{define:procedure do_receive} {declared:receive}, @revive TINYINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @seq BIGINT, @stored_nonce BIGINT, @previous TINYINT, @mismatch TINYINT;
    EXEC {take_in} {inputs:receive}, @revive, @seq OUTPUT, @stored_nonce OUTPUT, @previous OUTPUT, @mismatch OUTPUT;
    SELECT @seq AS seq, @stored_nonce AS nonce, @previous AS previous, @mismatch AS hash_mismatch;
END
GO
{define:procedure see} @source NVARCHAR(510), @message_id NVARCHAR(510), @hash VARBINARY(1024), @previous TINYINT OUTPUT,
    @mismatch TINYINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @key_hash BINARY(32) = {hash_of}(@source, @message_id), @nonce BIGINT = {random}, @found TINYINT, @seq BIGINT;
    SET @previous = NULL;
    SET @mismatch = 0;
    {begin_unit}
        EXEC {note} {seen_inputs}, @key_hash, 4, 0, @found OUTPUT, @seq OUTPUT;
        IF @found = 1
        BEGIN
            SELECT @previous = {found_state}, @mismatch = CASE WHEN m.hash <> @hash THEN 1 ELSE 0 END
              FROM {message} AS m WHERE m.key_hash = @key_hash;
            UPDATE {message} SET hash = @hash WHERE key_hash = @key_hash AND hash IS NULL AND @hash IS NOT NULL;
        END
    {end_unit}
END
GO
{define:procedure do_see} @source NVARCHAR(510), @message_id NVARCHAR(510), @hash VARBINARY(1024) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @previous TINYINT, @mismatch TINYINT;
    EXEC {see} @source, @message_id, @hash, @previous OUTPUT, @mismatch OUTPUT;
    SELECT @previous AS previous, @mismatch AS hash_mismatch;
END
GO
-- Puts the message into @state whatever it was but done, and drops a lease. @previous NULL: no such message.
{define:procedure put_mark} @source NVARCHAR(510), @message_id NVARCHAR(510), @state TINYINT, @error NVARCHAR(MAX),
    @previous TINYINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME(), @key_hash BINARY(32) = {hash_of}(@source, @message_id);
    SET @previous = NULL;
    {begin_unit}
        UPDATE {message} SET last_seen = last_seen WHERE key_hash = @key_hash;
        SELECT @previous = {found_state} FROM {message} AS m WHERE m.key_hash = @key_hash;
        IF @state = 2 AND @previous <> 2
        BEGIN
            INSERT INTO {turn} (ordering_key)
            SELECT m.ordering_key FROM {message} AS m WHERE m.key_hash = @key_hash AND m.ordering_key IS NOT NULL;
            UPDATE {message}
               SET state = 2, queued = 0, attempts = NULL, content_type = N'', headers = NULL, payload = 0x,
                   processed_at = @now, dead_reason = NULL, behind = 0, {no_lease}
             WHERE key_hash = @key_hash;
        END
        IF @state = 3 AND @previous <> 2
            UPDATE {message}
               SET state = 3, dead_reason = N'failed', died_at = @now, waits = 1, {no_lease},
                   last_error = CASE WHEN queued = 1 THEN COALESCE(@error, last_error) ELSE @error END
             WHERE key_hash = @key_hash;
        -- One that nobody holds and that never waited is ready where it is.
        IF @state = 0 AND @previous <> 2
            UPDATE {message}
               SET state = 0, dead_reason = NULL, frees_key = 0, behind = 0, waits = 1, next_attempt_at = @now, {no_lease}
             WHERE key_hash = @key_hash AND NOT (state = 0 AND waits = 0 AND queued = 1);
    {end_unit}
END
GO
{define:procedure do_mark} @source NVARCHAR(510), @message_id NVARCHAR(510), @state TINYINT, @error NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @previous TINYINT;
    EXEC {put_mark} @source, @message_id, @state, @error, @previous OUTPUT;
    SELECT @previous AS previous WHERE @previous IS NOT NULL;
END
GO
