// The message that a row of a classic table becomes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "adoption/table_sql.hpp"
#include "postroom/message.hpp"

namespace postroom::adoption {

// Throws std::invalid_argument for a row that cannot be one, naming the field.
NewMessage message_of(const TableSql& table, const Row& row, const Limits& limits);

// Throws std::invalid_argument, naming the field, when `text` is none.
std::int64_t whole_number(std::string_view field, const std::string& text);

}  // namespace postroom::adoption
