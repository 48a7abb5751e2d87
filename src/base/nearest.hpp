// nearest: what somebody probably meant who wrote a word that is not in the list.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postroom::base {

// How many characters must be inserted, removed, replaced, or swapped with their neighbour to make
// one of the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

// The candidate closest to `word`; nothing when all of them are too far off to have been meant
// (more than a third of the longer word, and never more than 3).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace postroom::base
