// How tables of others are read on MariaDB and MySQL.
#include <algorithm>
#include <array>
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
            .identity =
                "SELECT t.TABLE_SCHEMA, t.TABLE_NAME FROM information_schema.TABLES AS t "
                "WHERE t.TABLE_NAME = :table "
                "AND t.TABLE_SCHEMA = IF(:schema = '', DATABASE(), :schema)",
            // A time without a zone counts as UTC, as does the session.
            .micros = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})",
            .text_bytes = "HEX(CONVERT({} USING utf8mb4))",
            .blob_bytes = "HEX({})",
            .is_false = "COALESCE({}, 0) = 0",
            .text_size = "OCTET_LENGTH({})",
            .blob_size = "OCTET_LENGTH({})",
            .word = "{}",
            .lock = " FOR UPDATE SKIP LOCKED",
            .lock_waiting = " FOR UPDATE",
            .is_blob =
                [](std::string_view type) {
                    return type.find("blob") != std::string_view::npos ||
                           type.find("binary") != std::string_view::npos;
                },
            .is_number =
                [](std::string_view type) {
                    constexpr std::array numbers{
                        std::string_view{"tinyint"},   std::string_view{"smallint"},
                        std::string_view{"mediumint"}, std::string_view{"int"},
                        std::string_view{"bigint"},    std::string_view{"decimal"},
                        std::string_view{"bit"},       std::string_view{"float"},
                        std::string_view{"double"},    std::string_view{"year"}};
                    return std::ranges::find(numbers, type) != numbers.end();
                },
            .now_as = [](std::string_view) { return std::string("UTC_TIMESTAMP(6)"); },
            .true_as = [](std::string_view) { return std::string("1"); }};
}

}  // namespace postroom::mysql
