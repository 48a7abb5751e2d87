// Parameters: the values of one statement, as ODBC binds them.
//
// A NULL is written into the text: ODBC wants a type for it, and what fits one column is refused by
// another.
#pragma once

#include <sql.h>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/transaction.hpp"
#include "sql/value.hpp"

namespace postroom::sqlserver {

// What becomes of a wide text on its way through the driver. FreeTDS takes it for UCS-2 and puts
// question marks in the place of characters beyond U+FFFF; a narrow text in UTF-8 it converts well,
// where that is the client's encoding.
enum class TextWay { wide, utf8_beyond_ucs2, only_ucs2 };

class Parameters {
public:
    // Bytes that `value` points at must outlive the run of the statement.
    void add(const sql::Value& value);
    void add(const SqlValue& value);

    // `sql` with NULL in the place of each placeholder that stands for one.
    std::string text_for(std::string_view sql) const;
    // Binds the others. Throws Error. This object must outlive the run.
    void bind(SQLHSTMT statement, TextWay way);

private:
    struct Bound {
        bool null = true;
        SQLSMALLINT c_type = 0;
        SQLSMALLINT sql_type = 0;
        SQLULEN size = 0;
        const void* data = nullptr;
        SQLLEN length = 0;
        std::string_view beyond_ucs2{};  // a text that is: its UTF-8
    };
    static void make_narrow(Bound& text);

    void add_integer(std::int64_t number);
    void add_text(std::string_view text);
    void add_bytes(std::string_view bytes);

    // Addresses in these stay the same as they grow.
    std::deque<std::int64_t> integers_;
    std::deque<std::u16string> texts_;
    std::deque<std::string> bytes_;
    std::vector<Bound> bound_;
};

}  // namespace postroom::sqlserver
