-- What a plain INSERT may bring: the limits of the library that deploys, by which the constraints are called. A limit that was
-- lowered below what is there is left out, so that messages which were taken before can still be worked on.
DECLARE @name NVARCHAR(200), @drop NVARCHAR(400);
SELECT @name = MIN(c.name) FROM sys.check_constraints AS c WHERE CHARINDEX(N'_at_most_', c.name) > 0
    AND c.parent_object_id = OBJECT_ID(N'{message}');
WHILE @name IS NOT NULL
BEGIN
    SET @drop = CONCAT(N'ALTER TABLE {message} DROP CONSTRAINT ', @name);
    EXEC sp_executesql @drop;
    SELECT @name = MIN(c.name) FROM sys.check_constraints AS c WHERE CHARINDEX(N'_at_most_', c.name) > 0
        AND c.parent_object_id = OBJECT_ID(N'{message}');
END
GO
IF NOT EXISTS (SELECT 1 FROM {message} AS m WHERE DATALENGTH(m.payload) > {max_payload_bytes})
    ALTER TABLE {message} ADD CONSTRAINT {queue}_payload_at_most_{max_payload_bytes} CHECK (DATALENGTH(payload) <= {max_payload_bytes})
GO
IF NOT EXISTS (SELECT 1 FROM {message} AS m WHERE DATALENGTH(m.headers) > 2 * {headers_text_bytes})
    ALTER TABLE {message} ADD CONSTRAINT {queue}_headers_at_most_{headers_text_bytes} CHECK (DATALENGTH(headers) <= 2 * {headers_text_bytes})
GO
