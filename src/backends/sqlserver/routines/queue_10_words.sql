-- What several routines and statements need.

-- A time that lies so many microseconds later. DATEADD counts in 32 bits, so days go by themselves.
{define:function later} (@at DATETIME2(6), @us BIGINT) RETURNS DATETIME2(6) AS
BEGIN
    RETURN DATEADD(MICROSECOND, CAST(@us % 1000000 AS INT),
                   DATEADD(SECOND, CAST(@us % 86400000000 / 1000000 AS INT),
                           DATEADD(DAY, CAST(@us / 86400000000 AS INT), @at)));
END
GO
-- What two texts that are a key together are found by. The length keeps ('a', 'bc') and ('ab', 'c') apart.
{define:function hash_of} (@first NVARCHAR(510), @second NVARCHAR(510)) RETURNS BINARY(32) AS
BEGIN
    RETURN HASHBYTES('SHA2_256', CONCAT(DATALENGTH(@first), N':', @first, @second));
END
GO
-- The text of a GUID with the bytes of its first three groups turned round. The server keeps those with their lowest byte first, and we
-- keep all 16 bytes in the order in which they are written.
{define:function swapped} (@text NVARCHAR(36)) RETURNS NVARCHAR(36) AS
BEGIN
    RETURN SUBSTRING(@text, 7, 2) + SUBSTRING(@text, 5, 2) + SUBSTRING(@text, 3, 2) + SUBSTRING(@text, 1, 2) + N'-'
         + SUBSTRING(@text, 12, 2) + SUBSTRING(@text, 10, 2) + N'-' + SUBSTRING(@text, 17, 2) + SUBSTRING(@text, 15, 2)
         + SUBSTRING(@text, 19, 18);
END
GO
