#include "backends/mysql/result.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include "backends/mysql/errors.hpp"
#include "backends/mysql/times.hpp"

namespace postroom::mysql {

namespace {

using Metadata = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

enum_field_types bound_type(enum_field_types type) {
    switch (type) {
        case MYSQL_TYPE_TINY:
        case MYSQL_TYPE_SHORT:
        case MYSQL_TYPE_INT24:
        case MYSQL_TYPE_LONG:
        case MYSQL_TYPE_LONGLONG:
            return MYSQL_TYPE_LONGLONG;
        case MYSQL_TYPE_DATETIME:
        case MYSQL_TYPE_TIMESTAMP:
            return MYSQL_TYPE_DATETIME;
        default:
            return MYSQL_TYPE_BLOB;
    }
}

}  // namespace

ResultRow::ResultRow(MYSQL_STMT* statement, Form form) : statement_(statement) {
    const Metadata metadata(mysql_stmt_result_metadata(statement), &mysql_free_result);
    if (metadata == nullptr) throw error_of(statement);
    const unsigned count = mysql_num_fields(metadata.get());
    const MYSQL_FIELD* const fields = mysql_fetch_fields(metadata.get());
    cells_.resize(count);
    std::vector<MYSQL_BIND> binds(count);
    for (unsigned i = 0; i < count; ++i) {
        Cell& cell = cells_[i];
        MYSQL_BIND& bind = binds[i];
        cell.type = form == Form::text ? MYSQL_TYPE_STRING : bound_type(fields[i].type);
        bind.buffer_type = cell.type;
        bind.length = &cell.length;
        bind.is_null = &cell.null;
        if (cell.type == MYSQL_TYPE_LONGLONG) {
            bind.buffer = &cell.integer;
        } else if (cell.type == MYSQL_TYPE_DATETIME) {
            bind.buffer = &cell.time;
        } else {
            // The longest value of the result; numbers that come as bytes need a little more.
            cell.bytes.resize(std::max<std::size_t>(fields[i].max_length, 64));
            bind.buffer = cell.bytes.data();
            bind.buffer_length = cell.bytes.size();
        }
    }
    if (mysql_stmt_bind_result(statement, binds.data()) != 0) throw error_of(statement);
}

bool ResultRow::fetch() {
    const int code = mysql_stmt_fetch(statement_);
    if (code == MYSQL_NO_DATA) return false;
    if (code == 1) throw error_of(statement_);
    if (code == MYSQL_DATA_TRUNCATED)
        throw Error(ErrorKind::rejected, "a value of the result did not fit its buffer");
    return true;
}

std::int64_t ResultRow::integer(int column) const {
    const Cell& value = cell(column);
    if (value.null != 0) return 0;
    if (value.type == MYSQL_TYPE_LONGLONG) return value.integer;
    // Sums are decimals.
    const std::string_view digits = text(column);
    std::int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

std::string_view ResultRow::text(int column) const {
    const Cell& value = cell(column);
    if (value.null != 0) return {};
    return std::string_view(value.bytes).substr(0, value.length);
}

Instant ResultRow::time(int column) const {
    const Cell& value = cell(column);
    return value.null != 0 ? Instant{} : from_datetime(value.time);
}

}  // namespace postroom::mysql
