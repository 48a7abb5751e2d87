-- Where the store lives, which life of it this is, and whether delivery is held because it was restored: one row.
CREATE TABLE {home} (
    number      TINYINT NOT NULL CONSTRAINT {queue}_home_pk PRIMARY KEY CLUSTERED,
    incarnation NVARCHAR(36) NOT NULL CONSTRAINT {queue}_home_incarnation DEFAULT N'',
    epoch       BIGINT NOT NULL CONSTRAINT {queue}_home_epoch DEFAULT 0,
    place       NVARCHAR(MAX) NOT NULL CONSTRAINT {queue}_home_place DEFAULT N'',
    held_since  DATETIME2(6) NULL,
    held_why    NVARCHAR(MAX) NULL,
    decision    NVARCHAR(64) NULL,
    decided_at  DATETIME2(6) NULL,
    decided_by  NVARCHAR(MAX) NULL,
    CONSTRAINT {queue}_home_one_row CHECK (number = 1)
);
INSERT INTO {home} (number) VALUES (1);
GO
