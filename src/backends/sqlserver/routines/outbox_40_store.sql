-- Writing to the outbox.

-- Many messages that need nothing special: their fields as a JSON array, their payloads end to end. They are numbered in the order of the
-- array. An INSERT with OUTPUT takes no ORDER BY everywhere, so the order stands inside, and each is told its number by its nonce. With
-- an INSTEAD OF trigger OUTPUT has rows without a number, stored or not: their nonces tell which of them are there.
{define:procedure do_insert} @messages NVARCHAR(MAX), @payloads VARBINARY(MAX), @owner BINARY(16), @lease_id BIGINT,
    @lease_us BIGINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @stored TABLE (seq BIGINT NOT NULL, nonce BIGINT NOT NULL);
    DECLARE @until DATETIME2(6) = {later}(SYSUTCDATETIME(), @lease_us);
    INSERT INTO {message} ({columns:enqueue}, state, owner, lease_id, locked_until)
    OUTPUT inserted.seq, inserted.nonce INTO @stored
    SELECT {values:enqueue j}, CASE WHEN @lease_id IS NULL THEN 0 ELSE 1 END, @owner, @lease_id, @until
      FROM (SELECT TOP (1000) p.* FROM OPENJSON(@messages) WITH ({packed_fields}, {packed_place}) AS p ORDER BY p.place) AS j;
    IF EXISTS (SELECT 1 FROM @stored AS s WHERE s.seq = 0)
        UPDATE s SET seq = m.seq FROM @stored AS s JOIN {message} AS m ON m.nonce = s.nonce WHERE s.seq = 0;
    SELECT s.seq, 0 AS top_level, s.nonce
      FROM OPENJSON(@messages) WITH (nonce BIGINT, place BIGINT) AS p JOIN @stored AS s ON s.nonce = p.nonce AND s.seq <> 0
     ORDER BY p.place;
END
GO
-- A message with an idempotency key, a due time, an ordering key or a low priority. The key comes first: whoever finds it taken
-- writes nothing, and two writers of one key wait for each other. @seq NULL: the database has dropped the message.
{define:procedure store} {declared:enqueue}, @key NVARCHAR(510), @due_time DATETIME2(6), @seq BIGINT OUTPUT,
    @stored_nonce BIGINT OUTPUT, @stored_id NVARCHAR(510) OUTPUT, @existed TINYINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;
    DECLARE @now DATETIME2(6) = SYSUTCDATETIME(), @key_hash BINARY(32) = {hash_of}(@tenant_id, @key);
    SET @seq = 0;
    SET @stored_nonce = @nonce;
    SET @stored_id = @message_id;
    {begin_unit}
        IF @key IS NOT NULL
        BEGIN
            BEGIN TRY
                INSERT INTO {key} (key_hash, tenant_id, idempotency_key, seq, nonce, message_id, created_at)
                SELECT @key_hash, @tenant_id, @key, 0, @nonce, @message_id, @now
                 WHERE NOT EXISTS (SELECT 1 FROM {key} AS k WITH (UPDLOCK, HOLDLOCK) WHERE k.key_hash = @key_hash);
            END TRY
            BEGIN CATCH
                IF ERROR_NUMBER() NOT IN (2601, 2627) THROW;
            END CATCH
            SELECT @seq = k.seq, @stored_nonce = k.nonce, @stored_id = k.message_id
              FROM {key} AS k WITH (UPDLOCK, READCOMMITTEDLOCK) WHERE k.key_hash = @key_hash;
        END
        SET @existed = CASE WHEN @seq = 0 THEN 0 ELSE 1 END;
        IF @existed = 0
        BEGIN
            -- A key without a message was left by an enqueue whose INSERT failed and whose transaction went on: now it is ours.
            SET @stored_nonce = @nonce;
            SET @stored_id = @message_id;
            INSERT INTO {message} ({columns:enqueue}, due_time, created_at, key_noted, waits)
            VALUES ({inputs:enqueue}, @due_time, @now, 1,
                    CASE WHEN @due_time > @now OR @priority < 0 OR @ordering_key IS NOT NULL THEN 1 ELSE 0 END);
            SET @seq = SCOPE_IDENTITY();
            -- With an INSTEAD OF trigger the number is of the trigger's own INSERT, if it made one. Where it did not, whoever
            -- repeats the message must not find its key taken.
            IF @seq IS NULL
                SET @seq = (SELECT MAX(m.seq) FROM {message} AS m WHERE m.nonce = @nonce AND m.message_id = @message_id);
            IF @seq IS NULL
                DELETE FROM {key} WHERE key_hash = @key_hash AND seq = 0;
            ELSE IF @key IS NOT NULL
                UPDATE {key} SET seq = @seq, nonce = @nonce, message_id = @message_id WHERE key_hash = @key_hash;
        END
    {end_unit}
END
GO
{define:procedure do_store} {declared:enqueue}, @key NVARCHAR(510), @due_time DATETIME2(6) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @seq BIGINT, @stored_nonce BIGINT, @stored_id NVARCHAR(510), @existed TINYINT;
    EXEC {store} {inputs:enqueue}, @key, @due_time, @seq OUTPUT, @stored_nonce OUTPUT, @stored_id OUTPUT, @existed OUTPUT;
    SELECT @seq AS seq, @stored_nonce AS nonce, @stored_id AS message_id, @existed AS already_existed WHERE @seq IS NOT NULL;
END
GO
