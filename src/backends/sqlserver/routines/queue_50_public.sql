-- The procedures for any language: claim, read, ack, abandon, fail, reap. They refuse what the library refuses, with the same words
-- and error 51022. Ids are work-item ids; lists of them are JSON arrays. Ids that are not ours are ignored, an empty list
-- changes nothing, a NULL one is refused. Each verb takes part in the caller's transaction; where there is none it has one of its
-- own.

{define:procedure check_text} @field NVARCHAR(64), @value NVARCHAR(MAX), @chars_max INT, @required TINYINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @chars INT = LEN(@value + N'.') - 1, @at INT = 1, @units INT = LEN(@value + N'.') - 1, @words NVARCHAR(400);
    -- A character beyond the basic plane counts as two units.
    WHILE @units > @chars_max AND @at <= @units AND @at <= 2 * @chars_max + 1
    BEGIN
        IF UNICODE(SUBSTRING(@value, @at, 1)) BETWEEN 55296 AND 56319 SET @chars = @chars - 1;
        SET @at = @at + 1;
    END
    SET @words = CASE WHEN @required = 1 AND COALESCE(DATALENGTH(@value), 0) = 0 THEN CONCAT(@field, N': must not be empty')
                      WHEN @chars > @chars_max
                      THEN CONCAT(@field, N': ', @chars, N' characters, at most ', @chars_max, N' allowed') END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
END
GO
{define:procedure check_payload} @payload VARBINARY(MAX), @headers NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @words NVARCHAR(400) =
        CASE WHEN @payload IS NULL THEN N'payload: missing; give an empty string for a message without a body'
             WHEN DATALENGTH(@payload) > {max_payload_bytes}
             THEN CONCAT(N'payload: ', DATALENGTH(@payload), N' bytes, at most {max_payload_bytes} allowed (max_payload_bytes)')
             WHEN @headers IS NOT NULL AND (ISJSON(@headers) = 0 OR LEFT(LTRIM(@headers), 1) <> N'{')
             THEN N'headers: must be a JSON object'
             WHEN DATALENGTH(@headers) > 2 * {headers_bytes}
             THEN CONCAT(N'headers: ', DATALENGTH(@headers) / 2, N' bytes, at most {headers_bytes} allowed') END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
END
GO
{define:procedure check_end} @max_attempts INT, @due_time DATETIME2(6), @expires_at DATETIME2(6) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @words NVARCHAR(400) =
        CASE WHEN @max_attempts < 1 THEN CONCAT(N'max_attempts: ', @max_attempts, N', at least 1 required')
             WHEN @expires_at <= @due_time THEN N'expires_at: must lie after due_time' END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
END
GO
-- Numbers as hexadecimal digits, and back: no conversion of the server's does both for 64 bits everywhere.
{define:function hex_of} (@number BIGINT, @digits INT) RETURNS NVARCHAR(16) AS
BEGIN
    DECLARE @out NVARCHAR(16) = N'';
    WHILE LEN(@out) < @digits
    BEGIN
        SET @out = SUBSTRING(N'0123456789abcdef', CAST(@number % 16 AS INT) + 1, 1) + @out;
        SET @number = @number / 16;
    END
    RETURN @out;
END
GO
{define:function number_of} (@digits NVARCHAR(16)) RETURNS BIGINT AS
BEGIN
    DECLARE @out BIGINT = 0, @at INT = 1;
    WHILE @at <= LEN(@digits)
    BEGIN
        SET @out = @out * 16 + CHARINDEX(SUBSTRING(@digits, @at, 1), N'0123456789abcdef') - 1;
        SET @at = @at + 1;
    END
    RETURN @out;
END
GO
-- The work-item id of a message: WorkItemId in postroom/ids.hpp. Of the nonce two bits stand in the middle.
{define:function item_id} (@seq BIGINT, @nonce BIGINT) RETURNS NVARCHAR(36) AS
BEGIN
    DECLARE @low BIGINT = @nonce & 4611686018427387903,
            @high BIGINT = CASE WHEN @nonce < 0 THEN 2 ELSE 0 END + CASE WHEN @nonce & 4611686018427387904 <> 0 THEN 1 ELSE 0 END;
    DECLARE @hex NVARCHAR(32) = {hex_of}(@seq / 1024, 12) + N'8' + {hex_of}(@seq % 1024 * 4 + @high, 3)
        + {hex_of}(8 + @low / 1152921504606846976, 1) + {hex_of}(@low % 1152921504606846976, 15);
    RETURN CONCAT(SUBSTRING(@hex, 1, 8), N'-', SUBSTRING(@hex, 9, 4), N'-', SUBSTRING(@hex, 13, 4), N'-',
                  SUBSTRING(@hex, 17, 4), N'-', SUBSTRING(@hex, 21, 12));
END
GO
{define:function seq_of} (@hex NVARCHAR(36)) RETURNS BIGINT AS
BEGIN
    RETURN {number_of}(SUBSTRING(@hex, 1, 12)) * 1024 + {number_of}(SUBSTRING(@hex, 14, 3)) / 4;
END
GO
{define:function nonce_of} (@hex NVARCHAR(36)) RETURNS BIGINT AS
BEGIN
    DECLARE @high BIGINT = {number_of}(SUBSTRING(@hex, 14, 3)) % 4,
            @low BIGINT = {number_of}(SUBSTRING(@hex, 17, 1)) % 4 * 1152921504606846976 + {number_of}(SUBSTRING(@hex, 18, 15));
    RETURN @low + CASE WHEN @high % 2 = 1 THEN 4611686018427387904 ELSE 0 END
        + CASE WHEN @high >= 2 THEN -9223372036854775807 - 1 ELSE 0 END;
END
GO
-- Lets those of the leased messages die whose time is over.
{define:procedure expire_held} @lease_id BIGINT, @expired BIGINT OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    UPDATE {message}
       SET state = 3, dead_reason = N'expired', died_at = SYSUTCDATETIME(), last_error = N'expired before it could be delivered',
           waits = 1, {no_lease}
     WHERE lease_id = @lease_id AND expires_at <= SYSUTCDATETIME();
    SET @expired = @@ROWCOUNT;
END
GO
-- Leases up to @batch messages for @lease_seconds. Rows: id, lease_id, message_id. What has expired is dead instead, and others take
-- its places. Must be a transaction of its own. Nobody counts the claims of all callers: each goes by one of the 32 ways to share a batch.
{define:procedure claim} @owner UNIQUEIDENTIFIER, @lease_seconds INT, @batch INT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @words NVARCHAR(400) =
        CASE WHEN @owner IS NULL OR @owner = CAST(N'00000000-0000-0000-0000-000000000000' AS UNIQUEIDENTIFIER)
             THEN N'owner_token: must be a UUID and not the nil token'
             WHEN {bad_lease} THEN {bad_lease_words}
             WHEN @batch IS NULL OR {bad_batch} THEN {bad_batch_words} END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
    DECLARE @lease_id BIGINT = {random}, @lease_us BIGINT = CAST(@lease_seconds AS BIGINT) * 1000000, @until DATETIME2(6),
            @bytes BINARY(16) = {owner_bytes}, @number BIGINT = {random} & 31, @room BIGINT = @batch, @waited BIGINT, @due BIGINT,
            @urgent_to BIGINT, @keyed_to BIGINT, @low_to BIGINT, @keyed_again_to BIGINT;
    -- As claim_passes() of the library, which says what the numbers mean.
    DECLARE @by_age BIGINT = CASE WHEN @number & 3 = 3 THEN 1 ELSE 0 END;
    DECLARE @index BIGINT = @number / 4 * (3 - 2 * @by_age) + (1 - @by_age) * (@number & 3);
    WHILE @room > 0
    BEGIN
        SET @waited = (@room + @index % 2) / 2;
        SET @due = @waited - @by_age * ((@waited + @index / 4 % 2) / 2);
        SET @urgent_to = (1 - @by_age) * @room;
        SET @keyed_to = (@due + @index / 2 % 2) / 2;
        SET @low_to = @by_age * @waited;
        SET @keyed_again_to = @index % 2 * @room;
        EXEC {lease_batch} @bytes, @lease_id, @lease_us, @room, @urgent_to, @keyed_to, @due, @low_to, @keyed_again_to, @until OUTPUT;
        EXEC {expire_held} @lease_id, @room OUTPUT;
    END
    SELECT {item_id}(m.seq, m.nonce) AS id, @lease_id AS lease_id, m.message_id FROM {message} AS m WHERE m.lease_id = @lease_id;
END
GO
-- The messages that a lease holds, as the views show them.
{define:procedure read} @lease_id BIGINT AS
BEGIN
    SET NOCOUNT ON;
    SELECT {item_id}(v.seq, v.nonce) AS id, v.* FROM {in_queue} AS v WHERE v.lease_id = @lease_id;
END
GO
{define:procedure check_ids} @field NVARCHAR(64), @ids NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @words NVARCHAR(400) = CASE WHEN @ids IS NULL THEN CONCAT(@field, N': must not be NULL')
                                        WHEN ISJSON(@ids) = 0 OR LEFT(LTRIM(@ids), 1) <> N'['
                                        THEN CONCAT(@field, N': must be a JSON array of texts') END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
END
GO
-- Settles what a lease holds, or an owner: 'ack', 'abandon', 'fail', or 'release' for what was not tried. Back-off without a given
-- delay: 2^n seconds after the n-th failure, at most a minute. Dead after ten deliveries where the message says nothing else. Yields
-- how many messages it changed.
{define:procedure settle} @verb NVARCHAR(8), @lease_id BIGINT, @owner UNIQUEIDENTIFIER, @ids NVARCHAR(MAX), @error NVARCHAR(MAX),
    @delay_seconds DECIMAL(20, 6), @frees_key TINYINT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @words NVARCHAR(400) =
        CASE WHEN @lease_id IS NULL AND @owner IS NULL THEN N'lease_id: must not be NULL'
             WHEN @verb = N'fail' AND {error_missing} THEN N'error: must not be NULL'
             WHEN @verb = N'release' AND (@delay_seconds < 0 OR @delay_seconds > {delay_seconds_max})
             THEN CONCAT(N'delay: ', @delay_seconds, N' s, must be at least 0 and at most {delay_seconds_max} s')
             WHEN @verb <> N'release' AND (@delay_seconds <= 0 OR @delay_seconds > {delay_seconds_max})
             THEN CONCAT(N'delay: ', @delay_seconds, N' s, must be above 0 and at most {delay_seconds_max} s') END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
    EXEC {check_ids} N'ids', @ids;
    DECLARE @held TABLE (place INT IDENTITY(1, 1) NOT NULL, seq BIGINT NOT NULL, nonce BIGINT NOT NULL, lease_id BIGINT NOT NULL,
                         retries INT NOT NULL, owner BINARY(16) NOT NULL);
    DECLARE @acked TABLE (seq BIGINT NOT NULL);
    DECLARE @place INT = 1, @count INT, @changed BIGINT = 0, @seq BIGINT, @nonce BIGINT, @lease BIGINT, @retries INT, @delay BIGINT,
            @state TINYINT, @short NVARCHAR(4000) = NULLIF(LEFT(@error, 4000), N''), @frees TINYINT = COALESCE(@frees_key, 0),
            @tried TINYINT = CASE WHEN @verb = N'abandon' THEN 1 ELSE 0 END, @attempt NVARCHAR(MAX),
            @quoted NVARCHAR(MAX) = COALESCE(STRING_ESCAPE(LEFT(@error, {attempt_chars}), 'json'), N''),
            @holder BINARY(16), @text NVARCHAR(36), @seqs NVARCHAR(40), @nonces NVARCHAR(40);
    {begin_unit}
        INSERT INTO @held (seq, nonce, lease_id, retries, owner)
        SELECT DISTINCT m.seq, m.nonce, m.lease_id, m.retry_count, m.owner
          FROM {given_items} JOIN {message} AS m ON m.seq = {seq_of}(i.hex) AND m.nonce = {nonce_of}(i.hex)
         WHERE m.queued = 1 AND m.lease_id = COALESCE(@lease_id, m.lease_id) AND (@owner IS NULL OR m.owner = {owner_bytes});
        SELECT @count = COUNT(*) FROM @held;
        WHILE @place <= @count
        BEGIN
            SELECT @seq = h.seq, @nonce = h.nonce, @lease = h.lease_id, @retries = h.retries, @holder = h.owner,
                   @seqs = CONCAT(N'[', h.seq, N']'), @nonces = CONCAT(N'[', h.nonce, N']')
              FROM @held AS h WHERE h.place = @place;
            SET @state = NULL;
            SET @text = {owner_text};
            SET @attempt = CASE WHEN @verb <> N'release'
                THEN CONCAT(N'{"worker":"', @text, N'","outcome":"', @verb, N'","error":"', @quoted, N'"}') END;
            IF @verb = N'ack'
            BEGIN
                INSERT INTO @acked EXEC {finish} @seqs, @nonces, @lease, @text, 1;
                SET @state = @@ROWCOUNT;
            END
            ELSE IF @verb = N'fail'
                EXEC {kill} @seq, @nonce, @lease, @short, N'failed', @frees, @attempt, @state OUTPUT;
            ELSE
            BEGIN
                SET @delay = 1000000 * COALESCE(@delay_seconds, CASE WHEN @tried = 0 THEN 0 WHEN @retries >= 5 THEN 60
                                                                     ELSE POWER(2, @retries + 1) END);
                EXEC {release} @seq, @nonce, @lease, @short, @delay, @tried, 10, @frees, @attempt, @state OUTPUT;
            END
            IF @state IS NOT NULL AND (@verb IN (N'abandon', N'release') OR @state = 1) SET @changed = @changed + 1;
            SET @place = @place + 1;
        END
    {end_unit}
    SELECT @changed AS changed;
END
GO
-- The settling verbs, each by lease and by owner. By owner alone, a worker that lost its lease to another claim of the same owner is
-- not told apart from it. A message that dies holds back the later ones of its ordering key until it is redriven, unless
-- @frees_key says otherwise.
{define:procedure ack} @lease_id BIGINT, @ids NVARCHAR(MAX) AS
    EXEC {settle} N'ack', @lease_id, NULL, @ids, NULL, NULL, 0;
GO
{define:procedure ack_by_owner} @owner UNIQUEIDENTIFIER, @ids NVARCHAR(MAX) AS
    EXEC {settle} N'ack', NULL, @owner, @ids, NULL, NULL, 0;
GO
{define:procedure abandon} @lease_id BIGINT, @ids NVARCHAR(MAX), @error NVARCHAR(MAX) = NULL, @delay_seconds DECIMAL(20, 6) = NULL,
    @frees_key TINYINT = 0 AS
    EXEC {settle} N'abandon', @lease_id, NULL, @ids, @error, @delay_seconds, @frees_key;
GO
{define:procedure abandon_by_owner} @owner UNIQUEIDENTIFIER, @ids NVARCHAR(MAX), @error NVARCHAR(MAX) = NULL,
    @delay_seconds DECIMAL(20, 6) = NULL, @frees_key TINYINT = 0 AS
    EXEC {settle} N'abandon', NULL, @owner, @ids, @error, @delay_seconds, @frees_key;
GO
{define:procedure fail} @lease_id BIGINT, @ids NVARCHAR(MAX), @error NVARCHAR(MAX) = NULL, @frees_key TINYINT = 0 AS
    EXEC {settle} N'fail', @lease_id, NULL, @ids, @error, NULL, @frees_key;
GO
{define:procedure fail_by_owner} @owner UNIQUEIDENTIFIER, @ids NVARCHAR(MAX), @error NVARCHAR(MAX) = NULL, @frees_key TINYINT = 0 AS
    EXEC {settle} N'fail', NULL, @owner, @ids, @error, NULL, @frees_key;
GO
-- Takes back all leases that have run out; yields how many.
{define:procedure reap} AS
    EXEC {do_reap} 9223372036854775807;
GO
