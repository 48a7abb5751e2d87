// Patterns in which '*' stands for any characters.
#pragma once

#include <string_view>

namespace postroom::base {

bool matches_wildcards(std::string_view pattern, std::string_view text);

}  // namespace postroom::base
