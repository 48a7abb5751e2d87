// The states by the names that operators use, in filters and in what they are shown: ready,
// in_progress, done, dead, seen.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/message.hpp"

namespace postroom::admin {

std::string_view state_word(State state);
// nullopt: there is no such state.
std::optional<State> state_from(std::string_view word);
std::vector<std::string> state_words();

}  // namespace postroom::admin
