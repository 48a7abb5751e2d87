-- Enqueue for any language, in the caller's transaction. Yields the work-item id, and whether the idempotency key was used before: then
-- it is the id of the message that has it. A repeated key changes nothing and fails nothing. Times are UTC.
{define:procedure enqueue} @topic NVARCHAR(MAX), @payload VARBINARY(MAX), @correlation_id NVARCHAR(MAX) = NULL,
    @due_time DATETIME2(6) = NULL, @tenant_id NVARCHAR(MAX) = NULL, @idempotency_key NVARCHAR(MAX) = NULL,
    @ordering_key NVARCHAR(MAX) = NULL, @headers NVARCHAR(MAX) = NULL, @content_type NVARCHAR(MAX) = NULL,
    @message_id NVARCHAR(MAX) = NULL, @priority INT = 0, @max_attempts INT = NULL, @expires_at DATETIME2(6) = NULL,
    @occurred_at DATETIME2(6) = NULL, @aggregate_type NVARCHAR(MAX) = N'__GLOBAL__', @aggregate_id NVARCHAR(MAX) = NULL AS
BEGIN
    SET NOCOUNT ON;
    EXEC {check_text} N'topic', @topic, 255, 1;
    EXEC {check_payload} @payload, @headers;
    EXEC {check_text} N'correlation_id', @correlation_id, 255, 0;
    EXEC {check_text} N'tenant_id', @tenant_id, 255, 0;
    EXEC {check_text} N'idempotency_key', @idempotency_key, 255, 0;
    EXEC {check_text} N'ordering_key', @ordering_key, 255, 0;
    EXEC {check_text} N'content_type', @content_type, 255, 0;
    EXEC {check_text} N'message_id', @message_id, 36, 0;
    EXEC {check_text} N'aggregate_type', @aggregate_type, 255, 1;
    EXEC {check_text} N'aggregate_id', @aggregate_id, 255, 0;
    EXEC {check_end} @max_attempts, @due_time, @expires_at;
    -- A message id given by the caller serves as idempotency key too.
    DECLARE @nonce BIGINT = {random}, @seq BIGINT, @stored_nonce BIGINT, @stored_id NVARCHAR(510), @existed TINYINT,
            @key NVARCHAR(510) = COALESCE({not_empty_key}, {not_empty_id});
    SET @message_id = COALESCE({not_empty_id}, {new_message_id});
    SET @content_type = COALESCE(@content_type, N'application/json');
    SET @tenant_id = COALESCE(@tenant_id, N'');
    SET @priority = COALESCE(@priority, 0);
    SET @correlation_id = CASE WHEN DATALENGTH(@correlation_id) > 0 THEN @correlation_id END;
    SET @aggregate_id = CASE WHEN DATALENGTH(@aggregate_id) > 0 THEN @aggregate_id END;
    SET @ordering_key = CASE WHEN DATALENGTH(@ordering_key) > 0 THEN @ordering_key END;
    SET @idempotency_key = @key;
    EXEC {store} {inputs:enqueue}, @key, @due_time, @seq OUTPUT, @stored_nonce OUTPUT, @stored_id OUTPUT, @existed OUTPUT;
    IF @seq IS NULL THROW 51022, N'the database dropped the message; is there a trigger on the table that does?', 1;
    SELECT {item_id}(@seq, @stored_nonce) AS id, @existed AS already_existed;
END
GO
