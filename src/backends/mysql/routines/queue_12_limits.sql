-- What a plain INSERT may bring: the limits of the library that deploys, so that no row takes more memory than workers expect.
-- A constraint has its limit in its name, which is what a writer is told. On {waiting} there is no such rule: whatever got in
-- must be able to wait. A constraint is replaced only when its limit is another; on MariaDB rows that are there already are not
-- looked at, MySQL copies the table and refuses if one of them is too large.
SET /*M! check_constraint_checks = 0, */
    @postroom_rule = '{queue}_payload_at_most_{max_payload_bytes}_bytes',
    @postroom_headers_rule = '{queue}_headers_at_most_{headers_text_bytes}_bytes'//
SELECT IF(COALESCE(SUM(c.CONSTRAINT_NAME IN (@postroom_rule, @postroom_headers_rule)), 0) = 2, 'DO 0',
          CONCAT('ALTER TABLE {live} ',
                 COALESCE(CONCAT(GROUP_CONCAT('DROP CONSTRAINT `', c.CONSTRAINT_NAME, '`' SEPARATOR ', '), ', '), ''),
                 'ADD CONSTRAINT `', @postroom_rule, '` CHECK (LENGTH(payload) <= {max_payload_bytes}), ',
                 'ADD CONSTRAINT `', @postroom_headers_rule, '` CHECK (LENGTH(headers) <= {headers_text_bytes})'))
  INTO @postroom_alter
  FROM information_schema.TABLE_CONSTRAINTS AS c
 WHERE c.CONSTRAINT_SCHEMA = DATABASE() AND c.TABLE_NAME = '{queue}_live' AND c.CONSTRAINT_NAME LIKE '%\_at\_most\_%'//
PREPARE postroom_alter FROM @postroom_alter//
EXECUTE postroom_alter//
DEALLOCATE PREPARE postroom_alter//
SET /*M! check_constraint_checks = 1, */ @postroom_alter = NULL//
