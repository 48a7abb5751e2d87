#include "backends/sqlite/errors.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

namespace postroom::sqlite {

namespace {

constexpr int primary_code_mask = 0xff;

// What the text of SQLite leaves open.
std::string_view hint_for(int code, std::string_view text) {
    switch (code & primary_code_mask) {
        case SQLITE_ERROR:
            if (text.starts_with("no such table") || text.starts_with("no such index") ||
                text.starts_with("no such column") ||
                text.find("has no column named") != std::string_view::npos) {
                return "; the schema may not be deployed (OpenOptions::deploy_schema, postroom "
                       "migrate)";
            }
            return "";
        case SQLITE_BUSY:
            return "; another connection kept the file locked for the whole statement timeout, or "
                   "wrote since this "
                   "transaction began to read";
        case SQLITE_FULL:
            return "; no space is left on the device, or the file has reached its size limit";
        case SQLITE_READONLY:
            return "; the file, its directory or the file system does not allow writing";
        default:
            return "";
    }
}

}  // namespace

ErrorKind kind_of(int code) {
    switch (code & primary_code_mask) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_SCHEMA:
            return ErrorKind::conflict;
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
        case SQLITE_FULL:
        case SQLITE_NOMEM:
        case SQLITE_PROTOCOL:
        case SQLITE_INTERRUPT:
            return ErrorKind::unavailable;
        case SQLITE_MISUSE:
            return ErrorKind::misuse;
        default:
            return ErrorKind::rejected;
    }
}

Error error_of(sqlite3* connection, std::string_view doing) {
    const int code = sqlite3_extended_errcode(connection);
    const std::string_view text = sqlite3_errmsg(connection);
    return {kind_of(code),
            fmt::format("{}: {}{} (SQLite code {})", doing, text, hint_for(code, text), code)};
}

}  // namespace postroom::sqlite
