#include "backends/sqlite/row.hpp"

#include <sqlite3.h>

namespace postroom::sqlite {

bool StatementRow::null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t StatementRow::integer(int column) const {
    return sqlite3_column_int64(statement_, column);
}

std::string_view StatementRow::text(int column) const {
    // The text is asked for before its length: the conversion decides about that.
    const unsigned char* const text = sqlite3_column_text(statement_, column);
    if (text == nullptr) return {};
    return {reinterpret_cast<const char*>(text),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view StatementRow::blob(int column) const {
    // A plain INSERT may have written text; its bytes as UTF-8 are meant, whatever the file's
    // encoding is.
    if (sqlite3_column_type(statement_, column) == SQLITE_TEXT) return text(column);
    const void* const bytes = sqlite3_column_blob(statement_, column);
    if (bytes == nullptr) return {};
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Instant StatementRow::time(int column) const { return Instant{Duration{integer(column)}}; }

}  // namespace postroom::sqlite
