// Values in a form that any driver can bind.
#pragma once

#include <string>

#include "postroom/transaction.hpp"
#include "sql/value.hpp"

namespace postroom::mysql {

// The procedures take sets of numbers as JSON arrays.
std::string json_of(sql::IntArray numbers);

SqlValue render_value(const sql::Value& value);

}  // namespace postroom::mysql
