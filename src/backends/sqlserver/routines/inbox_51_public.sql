-- The inbox for any language. Times are UTC.

{define:procedure check_key} @message_id NVARCHAR(MAX), @source NVARCHAR(MAX), @hash VARBINARY(MAX) AS
BEGIN
    SET NOCOUNT ON;
    EXEC {check_text} N'message_id', @message_id, 255, 1;
    EXEC {check_text} N'source', @source, 255, 1;
    DECLARE @words NVARCHAR(400) = CONCAT(N'hash: ', DATALENGTH(@hash), N' bytes, at most 1024 allowed');
    IF DATALENGTH(@hash) > 1024 THROW 51022, @words, 1;
END
GO
-- As a message of the server, which fails nothing.
{define:procedure warn_of_hash} @message_id NVARCHAR(510), @source NVARCHAR(510), @mismatch TINYINT AS
BEGIN
    SET NOCOUNT ON;
    IF @mismatch = 1 RAISERROR(N'message %s of source %s came with another hash', 10, 1, @message_id, @source);
END
GO
-- Whether the message has been processed; notes that it was seen.
{define:procedure already_processed} @message_id NVARCHAR(MAX), @source NVARCHAR(MAX), @hash VARBINARY(MAX) = NULL AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @previous TINYINT, @mismatch TINYINT;
    EXEC {check_key} @message_id, @source, @hash;
    EXEC {see} @source, @message_id, @hash, @previous OUTPUT, @mismatch OUTPUT;
    SELECT CASE WHEN @previous = 2 THEN 1 ELSE 0 END AS already_processed;
    EXEC {warn_of_hash} @message_id, @source, @mismatch;
END
GO
-- Stores the message for processing unless it is done, or refreshes what nobody holds. Yields its work-item id; NULL: it was done
-- before. With @revive a dead message is ready again.
{define:procedure enqueue} @topic NVARCHAR(MAX), @source NVARCHAR(MAX), @message_id NVARCHAR(MAX), @payload VARBINARY(MAX),
    @hash VARBINARY(MAX) = NULL, @due_time DATETIME2(6) = NULL, @content_type NVARCHAR(MAX) = NULL, @headers NVARCHAR(MAX) = NULL,
    @ordering_key NVARCHAR(MAX) = NULL, @priority INT = 0, @max_attempts INT = NULL, @expires_at DATETIME2(6) = NULL,
    @revive TINYINT = 0 AS
BEGIN
    SET NOCOUNT ON;
    EXEC {check_text} N'topic', @topic, 255, 1;
    EXEC {check_key} @message_id, @source, @hash;
    EXEC {check_payload} @payload, @headers;
    EXEC {check_text} N'content_type', @content_type, 255, 0;
    EXEC {check_text} N'ordering_key', @ordering_key, 255, 0;
    EXEC {check_end} @max_attempts, @due_time, @expires_at;
    DECLARE @nonce BIGINT = {random}, @seq BIGINT, @stored_nonce BIGINT, @previous TINYINT, @mismatch TINYINT;
    SET @priority = COALESCE(@priority, 0);
    SET @revive = COALESCE(@revive, 0);
    SET @content_type = COALESCE(@content_type, N'application/json');
    SET @ordering_key = CASE WHEN DATALENGTH(@ordering_key) > 0 THEN @ordering_key END;
    EXEC {take_in} {inputs:receive}, @revive, @seq OUTPUT, @stored_nonce OUTPUT, @previous OUTPUT, @mismatch OUTPUT;
    SELECT CASE WHEN @seq IS NOT NULL THEN {item_id}(@seq, @stored_nonce) END AS id;
    EXEC {warn_of_hash} @message_id, @source, @mismatch;
END
GO
-- Puts the message into a state, whatever it was but done, and drops a lease. Yields 0 when there is no such message.
{define:procedure mark} @message_id NVARCHAR(MAX), @source NVARCHAR(MAX), @state TINYINT, @error NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @previous TINYINT, @short NVARCHAR(4000) = NULLIF(LEFT(@error, 4000), N'');
    EXEC {check_key} @message_id, @source, NULL;
    EXEC {put_mark} @source, @message_id, @state, @short, @previous OUTPUT;
    SELECT CASE WHEN @previous IS NULL THEN 0 ELSE 1 END AS marked;
END
GO
{define:procedure mark_processing} @message_id NVARCHAR(MAX), @source NVARCHAR(MAX) AS
    EXEC {mark} @message_id, @source, 0, NULL;
GO
{define:procedure mark_processed} @message_id NVARCHAR(MAX), @source NVARCHAR(MAX) AS
    EXEC {mark} @message_id, @source, 2, NULL;
GO
{define:procedure mark_dead} @message_id NVARCHAR(MAX), @source NVARCHAR(MAX), @error NVARCHAR(MAX) AS
    EXEC {mark} @message_id, @source, 3, @error;
GO
-- The settling verbs by owner and message id. Refused when the owner holds one id from two sources: then the lease has to be named.
{define:procedure settle_messages} @verb NVARCHAR(8), @owner UNIQUEIDENTIFIER, @message_ids NVARCHAR(MAX), @error NVARCHAR(MAX),
    @delay_seconds DECIMAL(20, 6) AS
BEGIN
    SET NOCOUNT ON;
    EXEC {check_ids} N'message_ids', @message_ids;
    DECLARE @ids NVARCHAR(MAX), @held BIGINT, @names BIGINT;
    SELECT @ids = CONCAT(N'["', STRING_AGG(CAST({item_id}(m.seq, m.nonce) AS NVARCHAR(MAX)), N'","'), N'"]'), @held = COUNT(*),
           @names = COUNT(DISTINCT m.message_id)
      FROM {message} AS m
     WHERE m.lease_id IS NOT NULL AND m.owner = {owner_bytes}
       AND EXISTS (SELECT 1 FROM OPENJSON(@message_ids) AS j
                    WHERE j.value = m.message_id AND DATALENGTH(j.value) = DATALENGTH(m.message_id));
    IF @held > @names THROW 51022, N'message_ids: one is leased from several sources; settle by lease', 1;
    EXEC {settle} @verb, NULL, @owner, @ids, @error, @delay_seconds, 0;
END
GO
{define:procedure ack_messages} @owner UNIQUEIDENTIFIER, @message_ids NVARCHAR(MAX) AS
    EXEC {settle_messages} N'ack', @owner, @message_ids, NULL, NULL;
GO
{define:procedure abandon_messages} @owner UNIQUEIDENTIFIER, @message_ids NVARCHAR(MAX), @error NVARCHAR(MAX) = NULL,
    @delay_seconds DECIMAL(20, 6) = NULL AS
    EXEC {settle_messages} N'abandon', @owner, @message_ids, @error, @delay_seconds;
GO
{define:procedure fail_messages} @owner UNIQUEIDENTIFIER, @message_ids NVARCHAR(MAX), @error NVARCHAR(MAX) AS
    EXEC {settle_messages} N'fail', @owner, @message_ids, @error, NULL;
GO
