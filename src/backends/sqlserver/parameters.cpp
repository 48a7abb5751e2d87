#include "backends/sqlserver/parameters.hpp"

#include <sqlext.h>

#include <algorithm>

#include "backends/sqlserver/errors.hpp"
#include "base/utf16.hpp"
#include "sql/plain_value.hpp"
#include "sql/utc_text.hpp"

namespace postroom::sqlserver {

namespace {

// What a type without MAX holds. Longer values are bound as long ones, or a driver would cut them
// without a word; all shorter ones with the same size, so that the server keeps one plan for them.
constexpr std::size_t text_units_max = 4000;
constexpr std::size_t bytes_max = 8000;

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// Length of the quoted text, name or comment at the start of `rest`, in which a question mark is
// none of ours; 0 for anything else.
std::size_t opaque_length(std::string_view rest) {
    const auto until = [rest](std::string_view end, std::size_t from) {
        const std::size_t at = rest.find(end, from);
        return at == std::string_view::npos ? rest.size() : at + end.size();
    };
    if (rest.starts_with('\'')) return until("'", 1);
    if (rest.starts_with('"')) return until("\"", 1);
    if (rest.starts_with('[')) return until("]", 1);
    if (rest.starts_with("--")) return until("\n", 2);
    if (rest.starts_with("/*")) return until("*/", 2);
    return 0;
}

}  // namespace

void Parameters::add_integer(std::int64_t number) {
    bound_.push_back({.null = false,
                      .c_type = SQL_C_SBIGINT,
                      .sql_type = SQL_BIGINT,
                      .size = 19,
                      .data = &integers_.emplace_back(number),
                      .length = sizeof(std::int64_t)});
}

void Parameters::add_text(std::string_view text) {
    const std::u16string& units = texts_.emplace_back(base::to_utf16(text));
    const bool is_long = units.size() > text_units_max;
    bound_.push_back(
        {.null = false,
         .c_type = SQL_C_WCHAR,
         .sql_type = static_cast<SQLSMALLINT>(is_long ? SQL_WLONGVARCHAR : SQL_WVARCHAR),
         .size = is_long ? units.size() : text_units_max,
         .data = units.data(),
         .length = static_cast<SQLLEN>(units.size() * sizeof(char16_t)),
         .beyond_ucs2 = base::has_surrogates(units) ? text : std::string_view{}});
}

void Parameters::add_bytes(std::string_view bytes) {
    static const char none = '\0';
    const bool is_long = bytes.size() > bytes_max;
    bound_.push_back(
        {.null = false,
         .c_type = SQL_C_BINARY,
         .sql_type = static_cast<SQLSMALLINT>(is_long ? SQL_LONGVARBINARY : SQL_VARBINARY),
         .size = is_long ? bytes.size() : bytes_max,
         .data = bytes.empty() ? &none : bytes.data(),
         .length = static_cast<SQLLEN>(bytes.size())});
}

void Parameters::add(const sql::Value& value) {
    std::visit(Overloaded{
                   [&](std::int64_t number) { add_integer(number); },
                   [&](std::string_view text) { add_text(text); },
                   [&](const sql::BlobView& blob) { add_bytes(blob.bytes); },
                   [&](const Instant& time) { add_text(sql::utc_text(time)); },
                   [&](const sql::IntArray& numbers) { add_text(sql::json_of(numbers)); },
                   [&](const Uuid& uuid) {
                       add_bytes(bytes_.emplace_back(uuid.bytes.begin(), uuid.bytes.end()));
                   },
                   [&](const auto&) { bound_.push_back({}); },
               },
               value);
}

void Parameters::add(const SqlValue& value) {
    std::visit(Overloaded{
                   [&](std::int64_t number) { add_integer(number); },
                   [&](const std::string& text) { add_text(text); },
                   [&](const Blob& blob) { add_bytes(blob.bytes); },
                   [&](const auto&) { bound_.push_back({}); },
               },
               value);
}

std::string Parameters::text_for(std::string_view sql) const {
    std::string out;
    std::size_t next = 0;
    while (!sql.empty()) {
        std::size_t length = opaque_length(sql);
        if (length == 0 && sql[0] == '?' && next < bound_.size() && bound_[next++].null) {
            out += "NULL";
            length = 1;
        } else {
            length = std::max<std::size_t>(length, 1);
            out.append(sql.substr(0, length));
        }
        sql.remove_prefix(length);
    }
    return out;
}

void Parameters::make_narrow(Bound& text) {
    text.c_type = SQL_C_CHAR;
    text.data = text.beyond_ucs2.data();
    text.length = static_cast<SQLLEN>(text.beyond_ucs2.size());
}

void Parameters::bind(SQLHSTMT statement, TextWay way) {
    SQLUSMALLINT number = 0;
    for (Bound& value : bound_) {
        if (value.null) continue;
        if (!value.beyond_ucs2.empty()) {
            if (way == TextWay::only_ucs2)
                throw Error(ErrorKind::rejected,
                            "FreeTDS loses characters beyond U+FFFF on a borrowed connection");
            if (way == TextWay::utf8_beyond_ucs2) make_narrow(value);
        }
        // The driver only reads what is bound as an input.
        const SQLRETURN done = SQLBindParameter(
            statement, ++number, SQL_PARAM_INPUT, value.c_type, value.sql_type, value.size, 0,
            const_cast<void*>(value.data), value.length, &value.length);
        if (!SQL_SUCCEEDED(done)) throw LinkError(diagnose(SQL_HANDLE_STMT, statement));
    }
}

}  // namespace postroom::sqlserver
