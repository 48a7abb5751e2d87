// Statements that are given arrays: INSERT ... VALUES of many rows at once.
//
// A statement knows where the parenthesis for one row stands (Statement::row()), and all its
// parameters stand within. It is repeated for each element of the arrays.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/mysql/bindings.hpp"
#include "sql/connection.hpp"

namespace postroom::mysql {

// How many rows the call is for; 0: it is given no arrays of rows.
std::size_t row_count(const sql::Call& call);

// In how many rows to send each part, so that few different statements have to be prepared and none
// is larger than `bytes_max`, if rows allow it.
std::vector<std::size_t> parts_of(const sql::Call& call, std::size_t bytes_max);

// The text for `count` rows.
std::string with_rows(const sql::Statement& statement, std::size_t count);

// The parameters of rows first, first + 1, ...
Bindings bindings_of_rows(const sql::Call& call, std::size_t first, std::size_t count);

}  // namespace postroom::mysql
