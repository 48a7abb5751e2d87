// How MariaDB and MySQL spell statements over tables of any shape.
#include "queue/sql_access.hpp"

#include <fmt/format.h>

#include "backends/mysql/dialect.hpp"

namespace postroom::mysql {

namespace {

class Words final : public SqlWords {
    std::string_view quotes() const override { return "``"; }
    std::string parameter(std::size_t) const override { return "?"; }

    std::string select(const SqlSelect& parts) const override { return select_by_limit(parts); }

    SqlStatement version() const override {
        return {.sql = "SELECT CONCAT(@@version_comment, ' ', version())"};
    }

    SqlStatement columns(const std::string& schema, const std::string& table) const override {
        return {.sql =
                    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, LOWER(DATA_TYPE) "
                    "FROM information_schema.COLUMNS WHERE TABLE_NAME = ? "
                    "AND TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) "
                    "ORDER BY ORDINAL_POSITION",
                .params = {table, schema}};
    }

    // A time without a zone counts as UTC, as does the session.
    SqlColumn column(const std::string& name, const std::string& type) const override {
        const SqlColumn::Kind kind =
            kind_of(type, {"blob", "binary"}, {"int", "decimal", "bit", "float", "double", "year"});
        return {.kind = kind,
                .name = name,
                .hex = kind == SqlColumn::Kind::bytes
                           ? fmt::format("HEX({})", name)
                           : fmt::format("HEX(CONVERT({} USING utf8mb4))", name),
                .byte_count = fmt::format("OCTET_LENGTH({})", name),
                .microseconds = fmt::format("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})", name),
                .word = name,
                .now = "UTC_TIMESTAMP(6)",
                .yes = "1",
                .no = "0"};
    }
};

}  // namespace

const SqlWords& words() {
    static const Words only;
    return only;
}

}  // namespace postroom::mysql
