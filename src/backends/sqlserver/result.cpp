#include "backends/sqlserver/result.hpp"

#include <sqlext.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "backends/sqlserver/errors.hpp"
#include "base/utf16.hpp"
#include "sql/utc_text.hpp"

namespace postroom::sqlserver {

namespace {

void require(SQLRETURN done, SQLHSTMT statement) {
    if (!SQL_SUCCEEDED(done)) throw LinkError(diagnose(SQL_HANDLE_STMT, statement));
}

Instant instant_of(const SQL_TIMESTAMP_STRUCT& t) {
    using namespace std::chrono;
    const sys_days day{year{t.year} / month{t.month} / std::chrono::day{t.day}};
    return Instant{duration_cast<Duration>(day.time_since_epoch()) +
                   duration_cast<Duration>(hours{t.hour} + minutes{t.minute} + seconds{t.second}) +
                   duration_cast<Duration>(nanoseconds{t.fraction})};
}

}  // namespace

ResultRow::ResultRow(SQLHSTMT statement, bool as_text) : statement_(statement), as_text_(as_text) {
    SQLSMALLINT count = 0;
    require(SQLNumResultCols(statement_, &count), statement_);
    cells_.resize(static_cast<std::size_t>(count));
    for (SQLSMALLINT i = 0; i < count; ++i) {
        SQLLEN type = 0;
        require(SQLColAttributeW(statement_, static_cast<SQLUSMALLINT>(i + 1),
                                 SQL_DESC_CONCISE_TYPE, nullptr, 0, nullptr, &type),
                statement_);
        Kind& kind = cells_[static_cast<std::size_t>(i)].kind;
        switch (type) {
            case SQL_BIT:
            case SQL_TINYINT:
            case SQL_SMALLINT:
            case SQL_INTEGER:
            case SQL_BIGINT:
                kind = Kind::integer;
                break;
            case SQL_BINARY:
            case SQL_VARBINARY:
            case SQL_LONGVARBINARY:
                kind = Kind::bytes;
                break;
            case SQL_TYPE_TIMESTAMP:
                kind = Kind::time;
                break;
            default:
                kind = Kind::text;
        }
    }
}

bool ResultRow::fetch() {
    const SQLRETURN done = SQLFetch(statement_);
    if (done == SQL_NO_DATA) return false;
    require(done, statement_);
    SQLUSMALLINT number = 0;
    for (Cell& cell : cells_) read(++number, cell);
    return true;
}

void ResultRow::read(SQLUSMALLINT number, Cell& cell) {
    switch (cell.kind) {
        case Kind::integer:
            return read_integer(number, cell);
        case Kind::time:
            return read_time(number, cell);
        case Kind::bytes:
            cell.null = !read_long(number, SQL_C_BINARY, cell.bytes);
            return;
        case Kind::text:
            break;
    }
    std::string units;
    cell.null = !read_long(number, SQL_C_WCHAR, units);
    std::u16string wide(units.size() / sizeof(char16_t), u'\0');
    std::memcpy(wide.data(), units.data(), wide.size() * sizeof(char16_t));
    cell.bytes = base::to_utf8(wide);
}

void ResultRow::read_integer(SQLUSMALLINT number, Cell& cell) {
    SQLLEN length = 0;
    cell.number = 0;
    require(SQLGetData(statement_, number, SQL_C_SBIGINT, &cell.number, 0, &length), statement_);
    cell.null = length == SQL_NULL_DATA;
    if (cell.null) cell.number = 0;
    if (as_text_) cell.bytes = std::to_string(cell.number);
}

void ResultRow::read_time(SQLUSMALLINT number, Cell& cell) {
    SQLLEN length = 0;
    SQL_TIMESTAMP_STRUCT time{};
    require(SQLGetData(statement_, number, SQL_C_TYPE_TIMESTAMP, &time, sizeof time, &length),
            statement_);
    cell.null = length == SQL_NULL_DATA;
    cell.time = cell.null ? Instant{} : instant_of(time);
    if (as_text_) cell.bytes = cell.null ? "" : sql::utc_text(cell.time);
}

// A driver that has more than fits says so, and puts a NUL behind each piece of a text. The first
// piece is small, because most values are; the next one takes all that is left, if that is known.
bool ResultRow::read_long(SQLUSMALLINT number, SQLSMALLINT c_type, std::string& out) {
    const std::size_t nul = c_type == SQL_C_WCHAR ? sizeof(char16_t) : 0;
    std::size_t had = 0;
    std::size_t room = 2048;
    for (;;) {
        out.resize(had + room + nul);
        SQLLEN length = 0;
        const SQLRETURN done = SQLGetData(statement_, number, c_type, out.data() + had,
                                          static_cast<SQLLEN>(room + nul), &length);
        if (done == SQL_NO_DATA) break;
        require(done, statement_);
        if (length == SQL_NULL_DATA) {
            out.clear();
            return false;
        }
        const bool more = length == SQL_NO_TOTAL || static_cast<std::size_t>(length) > room;
        const std::size_t left =
            length == SQL_NO_TOTAL ? 4 * room : static_cast<std::size_t>(length);
        had += more ? room : left;
        if (!more) break;
        room = length == SQL_NO_TOTAL ? std::min<std::size_t>(left, 1 << 20) : left - room;
    }
    out.resize(had);
    return true;
}

Uuid ResultRow::uuid(int column) const {
    Uuid out;
    const std::string_view bytes = blob(column);
    if (bytes.size() == out.bytes.size()) std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
    return out;
}

}  // namespace postroom::sqlserver
