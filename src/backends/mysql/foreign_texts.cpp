// How tables of others are read on MariaDB and MySQL.
#include <string>

#include "backends/mysql/dialect.hpp"

namespace postroom::mysql {

sql::ForeignTexts foreign_texts() {
    return {.quote = '`',
            .columns =
                "SELECT c.COLUMN_NAME, LOWER(c.DATA_TYPE) FROM information_schema.COLUMNS "
                "AS c WHERE c.TABLE_NAME = :table "
                "AND c.TABLE_SCHEMA = IF(:schema = '', DATABASE(), :schema) "
                "ORDER BY c.ORDINAL_POSITION",
            // A time without a zone counts as UTC, as does the session.
            .micros = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})",
            .text_bytes = "HEX(CONVERT({} USING utf8mb4))",
            .blob_bytes = "HEX({})",
            .is_false = "COALESCE({}, 0) = 0",
            .lock = " FOR UPDATE SKIP LOCKED",
            .is_blob =
                [](std::string_view type) {
                    return type.find("blob") != std::string_view::npos ||
                           type.find("binary") != std::string_view::npos;
                },
            .now_as = [](std::string_view) { return std::string("UTC_TIMESTAMP(6)"); },
            .true_as = [](std::string_view) { return std::string("1"); }};
}

}  // namespace postroom::mysql
