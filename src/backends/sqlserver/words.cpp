// How SQL Server spells statements over tables of any shape.
#include "queue/sql_access.hpp"

#include <fmt/format.h>

#include "backends/sqlserver/dialect.hpp"

namespace postroom::sqlserver {

namespace {

std::string_view hints_for(SqlSelect::Lock lock) {
    switch (lock) {
        case SqlSelect::Lock::skip:
            return " WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)";
        case SqlSelect::Lock::wait:
            return " WITH (UPDLOCK, ROWLOCK)";
        case SqlSelect::Lock::none:
            break;
    }
    return "";
}

class Words final : public SqlWords {
    std::string_view quotes() const override { return "[]"; }
    std::string parameter(std::size_t) const override { return "?"; }
    SqlStatement version() const override { return {.sql = "SELECT @@VERSION"}; }

    std::string select(const SqlSelect& parts) const override {
        return fmt::format("SELECT {}{} FROM {}{} WHERE {}{}",
                           parts.rows == 0 ? "" : fmt::format("TOP ({}) ", parts.rows), parts.what,
                           parts.from, hints_for(parts.lock), parts.where,
                           parts.order.empty() ? "" : " ORDER BY " + parts.order);
    }

    SqlStatement columns(const std::string& schema, const std::string& table) const override {
        return {.sql =
                    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, LOWER(DATA_TYPE) "
                    "FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = ? "
                    "AND TABLE_SCHEMA = COALESCE(NULLIF(?, N''), SCHEMA_NAME()) "
                    "ORDER BY ORDINAL_POSITION",
                .params = {table, schema}};
    }

    // A time without a zone counts as UTC. The hex of a text is that of its UTF-8, which the server
    // has from 2019 on.
    SqlColumn column(const std::string& name, const std::string& type) const override {
        const SqlColumn::Kind kind =
            kind_of(type, {"binary", "image"},
                    {"int", "decimal", "numeric", "bit", "float", "real", "money"});
        const std::string bytes =
            kind == SqlColumn::Kind::bytes
                ? fmt::format("CAST({} AS VARBINARY(MAX))", name)
                : fmt::format(
                      "CAST(CAST({} AS VARCHAR(MAX)) COLLATE Latin1_General_100_CI_AS_SC_UTF8 "
                      "AS VARBINARY(MAX))",
                      name);
        return {.kind = kind,
                .name = name,
                .hex = fmt::format("CONVERT(VARCHAR(MAX), {}, 2)", bytes),
                .byte_count = fmt::format("DATALENGTH({})", bytes),
                .microseconds = fmt::format("DATEDIFF_BIG(MICROSECOND, '1970-01-01', {})", name),
                .word = name,
                .now = "SYSUTCDATETIME()",
                .yes = "1",
                .no = "0"};
    }
};

}  // namespace

const SqlWords& words() {
    static const Words only;
    return only;
}

}  // namespace postroom::sqlserver
