// How tables of others are read on SQLite, where a column holds whatever was put into it.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "backends/sqlite/dialect.hpp"

namespace postroom::sqlite {

namespace {

std::string upper(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
}

}  // namespace

sql::ForeignTexts foreign_texts() {
    return {.quote = '"',
            .columns = "SELECT name, type FROM pragma_table_info(:table)",
            .identity =
                "SELECT CASE :schema WHEN '' THEN 'main' ELSE lower(:schema) END, coalesce((SELECT "
                "m.name FROM sqlite_schema AS m WHERE m.name = :table COLLATE NOCASE AND m.type IN "
                "('table', 'view')), :table)",
            // Numbers are seconds, milliseconds or microseconds: which, their size tells.
            .micros =
                "CASE WHEN typeof({}) IN ('integer', 'real') THEN CAST({} * CASE WHEN {} < "
                "100000000000 THEN 1000000 WHEN {} < 100000000000000 THEN 1000 ELSE 1 END AS "
                "INTEGER) ELSE CAST(ROUND((julianday({}) - 2440587.5) * 86400000.0) AS "
                "INTEGER) * 1000 END",
            // The hex of NULL is an empty text.
            .text_bytes = "iif({} IS NULL, NULL, hex(CAST({} AS TEXT)))",
            .blob_bytes = "iif({} IS NULL, NULL, hex({}))",
            .is_false = "coalesce({}, 0) = 0",
            .text_size = "length(CAST({} AS BLOB))",
            .blob_size = "length(CAST({} AS BLOB))",
            .word = "CAST({} AS TEXT)",
            .lock = "",
            .lock_waiting = "",
            .loose_types = true,
            .is_blob =
                [](std::string_view type) { return upper(type).find("BLOB") != std::string::npos; },
            .is_number =
                [](std::string_view type) {
                    const std::string name = upper(type);
                    constexpr std::array parts{"INT", "REAL", "FLOA", "DOUB", "NUM", "DEC", "BOOL"};
                    return std::ranges::any_of(parts, [&](const char* part) {
                        return name.find(part) != std::string::npos;
                    });
                },
            .now_as =
                [](std::string_view type) {
                    return std::string(
                        upper(type).find("INT") != std::string::npos
                            ? "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
                            : "strftime('%Y-%m-%d %H:%M:%f', 'now')");
                },
            .true_as = [](std::string_view) { return std::string("1"); }};
}

}  // namespace postroom::sqlite
