{define:view done} AS
SELECT * FROM {message} WHERE state = 2
GO
