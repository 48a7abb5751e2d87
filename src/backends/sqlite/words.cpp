// How SQLite spells statements over tables of any shape. A column holds whatever was put into it.
#include "queue/sql_access.hpp"

#include <fmt/format.h>

#include <charconv>

#include "backends/sqlite/dialect.hpp"

namespace postroom::sqlite {

namespace {

class Words final : public SqlWords {
    std::string_view quotes() const override { return "\"\""; }
    std::string parameter(std::size_t number) const override { return fmt::format("?{}", number); }

    // Whoever writes has the only write lock: there are no rows to lock.
    std::string select(const SqlSelect& parts) const override {
        SqlSelect unlocked = parts;
        unlocked.lock = SqlSelect::Lock::none;
        return select_by_limit(unlocked);
    }

    SqlStatement version() const override {
        return {.sql = "SELECT 'SQLite ' || sqlite_version()"};
    }

    SqlStatement columns(const std::string& schema, const std::string& table) const override {
        return {.sql =
                    "SELECT coalesce(nullif(lower(?2), ''), 'main'), coalesce((SELECT m.name "
                    "FROM sqlite_schema AS m WHERE m.name = ?1 COLLATE NOCASE AND m.type IN "
                    "('table', 'view')), ?1), name, upper(type) FROM pragma_table_info(?1)",
                .params = {table, schema}};
    }

    // The hex of NULL is an empty text. Times that are numbers are seconds, milliseconds or
    // microseconds: which, their size tells.
    SqlColumn column(const std::string& name, const std::string& type) const override {
        const SqlColumn::Kind kind =
            kind_of(type, {"BLOB"}, {"INT", "REAL", "FLOA", "DOUB", "NUM", "DEC", "BOOL"});
        const std::string text = fmt::format("CAST({} AS TEXT)", name);
        return {
            .kind = kind,
            .name = name,
            .hex = fmt::format("iif({} IS NULL, NULL, hex({}))", name,
                               kind == SqlColumn::Kind::bytes ? name : text),
            .byte_count = fmt::format("length(CAST({} AS BLOB))", name),
            .microseconds = fmt::format(
                "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} * CASE WHEN {0} < "
                "100000000000 THEN 1000000 WHEN {0} < 100000000000000 THEN 1000 ELSE 1 END AS "
                "INTEGER) ELSE CAST(ROUND((julianday({0}) - 2440587.5) * 86400000.0) AS INTEGER) "
                "* 1000 END",
                name),
            .word = text,
            .now = type.find("INT") != std::string::npos
                       ? "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
                       : "strftime('%Y-%m-%d %H:%M:%f', 'now')",
            .yes = "1",
            .no = "0"};
    }

    std::vector<SqlValue> forms(const SqlColumn&, const std::string& bytes) const override {
        std::vector<SqlValue> all{Blob{bytes}, bytes};
        std::int64_t number = 0;
        const char* const end = bytes.data() + bytes.size();
        const auto [read, error] = std::from_chars(bytes.data(), end, number);
        if (error == std::errc{} && read == end) all.emplace_back(number);
        return all;
    }
};

}  // namespace

const SqlWords& words() {
    static const Words only;
    return only;
}

}  // namespace postroom::sqlite
