// Words in one text, separated by spaces or commas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace postroom::base {

std::vector<std::string> listed_words(std::string_view text);

}  // namespace postroom::base
