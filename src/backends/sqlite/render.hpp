// Values in the forms that SQLite knows: integer, text, blob.
#pragma once

#include <string>

#include "postroom/transaction.hpp"
#include "sql/value.hpp"

namespace postroom::sqlite {

// "[1,2,3]", for json_each().
std::string json_of(sql::IntArray numbers);

// Uuids become their 16 bytes, times microseconds since 1970, arrays of integers JSON.
SqlValue render_value(const sql::Value& value);

}  // namespace postroom::sqlite
