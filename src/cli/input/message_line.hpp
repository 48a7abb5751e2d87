// A message as one line of JSON: the form that `enqueue --jsonl` reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postroom/message.hpp"

namespace postroom::cli {

// Throws std::invalid_argument that names the field and what is wrong with it, with the nearest
// known name for an unknown one; never quotes a value.
NewMessage message_from_json(std::string_view line);

// The known fields, for the help.
const std::vector<std::string>& message_field_names();

}  // namespace postroom::cli
