// How PostgreSQL spells statements over tables of any shape.
#include "queue/sql_access.hpp"

#include <fmt/format.h>

#include "backends/postgres/dialect.hpp"

namespace postroom::postgres {

namespace {

class Words final : public SqlWords {
    std::string_view quotes() const override { return "\"\""; }
    std::string parameter(std::size_t number) const override { return fmt::format("${}", number); }

    std::string select(const SqlSelect& parts) const override { return select_by_limit(parts); }

    SqlStatement version() const override { return {.sql = "SELECT version()"}; }

    SqlStatement columns(const std::string& schema, const std::string& table) const override {
        return {.sql =
                    "SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, NULL) "
                    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                    "JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = "
                    "to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped "
                    "ORDER BY a.attnum",
                .params = {quoted(schema, table)}};
    }

    // A time without a zone counts as UTC.
    SqlColumn column(const std::string& name, const std::string& type) const override {
        const SqlColumn::Kind kind =
            kind_of(type, {"bytea"},
                    {"smallint", "integer", "bigint", "numeric", "real", "double precision"});
        const std::string bytes = kind == SqlColumn::Kind::bytes
                                      ? name
                                      : fmt::format("convert_to({}::text, 'UTF8')", name);
        const bool unzoned = type.find("without time zone") != std::string::npos;
        return {.kind = kind,
                .name = name,
                .hex = fmt::format("encode({}, 'hex')", bytes),
                .byte_count = fmt::format("octet_length({})", bytes),
                .microseconds = fmt::format("(extract(epoch FROM {}) * 1000000)::bigint", name),
                .word = name,
                .now = unzoned ? "clock_timestamp() AT TIME ZONE 'UTC'" : "clock_timestamp()",
                .yes = fmt::format("CAST(1 AS {})", type),
                .no = fmt::format("CAST(0 AS {})", type)};
    }
};

}  // namespace

const SqlWords& words() {
    static const Words only;
    return only;
}

}  // namespace postroom::postgres
