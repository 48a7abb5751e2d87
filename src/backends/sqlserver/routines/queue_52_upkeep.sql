-- The procedures for any language, continued: what a worker does besides settling, and what an operator does.

-- The numbers and the nonces in work-item ids, as JSON arrays; a text that is no such id has none.
{define:function seqs_in} (@ids NVARCHAR(MAX)) RETURNS NVARCHAR(MAX) AS
BEGIN
    RETURN (SELECT CONCAT(N'[', STRING_AGG(CAST({seq_of}(i.hex) AS NVARCHAR(MAX)), N','), N']') FROM {given_items});
END
GO
{define:function nonces_in} (@ids NVARCHAR(MAX)) RETURNS NVARCHAR(MAX) AS
BEGIN
    RETURN (SELECT CONCAT(N'[', STRING_AGG(CAST({nonce_of}(i.hex) AS NVARCHAR(MAX)), N','), N']') FROM {given_items});
END
GO
-- Prolongs the lease on these messages to @lease_seconds from now. Rows: seq of each that it still held.
{define:procedure extend} @lease_id BIGINT, @ids NVARCHAR(MAX), @lease_seconds INT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @lease_us BIGINT = CAST(@lease_seconds AS BIGINT) * 1000000,
            @words NVARCHAR(400) = CASE WHEN @lease_id IS NULL THEN N'lease_id: must not be NULL'
                                        WHEN {bad_lease} THEN {bad_lease_words} END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
    EXEC {check_ids} N'ids', @ids;
    DECLARE @seqs NVARCHAR(MAX) = {seqs_in}(@ids), @nonces NVARCHAR(MAX) = {nonces_in}(@ids);
    EXEC {do_extend} @seqs, @nonces, @lease_id, @lease_us;
END
GO
-- Gives back messages that were not tried: at once or after @delay_seconds, and at no cost of an attempt. Yields how many.
{define:procedure hand_back} @lease_id BIGINT, @ids NVARCHAR(MAX), @delay_seconds DECIMAL(20, 6) = NULL AS
    EXEC {settle} N'release', @lease_id, NULL, @ids, NULL, @delay_seconds, 0;
GO
-- Dead messages are ready again, as new; yields how many were dead.
{define:procedure redrive} @ids NVARCHAR(MAX) AS
BEGIN
    SET NOCOUNT ON;
    EXEC {check_ids} N'ids', @ids;
    DECLARE @seqs NVARCHAR(MAX) = {seqs_in}(@ids), @nonces NVARCHAR(MAX) = {nonces_in}(@ids);
    EXEC {do_redrive} @seqs, @nonces;
END
GO
-- Removes a batch of done messages that are older. Yields how many, and 1 when somebody else is purging. To be called again until
-- both are 0.
{define:procedure purge} @older_than_seconds DECIMAL(20, 6), @batch INT = 1000 AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @older_us BIGINT = @older_than_seconds * 1000000, @window_us BIGINT = 604800000000,
            @words NVARCHAR(400) = CASE WHEN @older_than_seconds IS NULL OR @older_than_seconds < 0
                                        THEN N'older_than: must not be NULL or negative'
                                        WHEN {bad_batch} THEN {bad_batch_words} END;
    IF @words IS NOT NULL THROW 51022, @words, 1;
    SET @batch = COALESCE(@batch, 1000);
    EXEC {do_purge} @older_us, @window_us, @batch;
END
GO
