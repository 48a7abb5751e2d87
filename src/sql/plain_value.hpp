// Values in a form that any driver can bind: for engines without types for UUIDs and arrays.
#pragma once

#include <string>

#include "postroom/transaction.hpp"
#include "sql/value.hpp"

namespace postroom::sql {

// "[1,2,3]": how such engines take a set of numbers.
std::string json_of(IntArray numbers);

// Uuids become their 16 bytes, arrays of integers JSON, times what `of_time` makes of them. Throws
// Error{misuse} for other arrays.
SqlValue plain_value(const Value& value, SqlValue (*of_time)(Instant));

}  // namespace postroom::sql
