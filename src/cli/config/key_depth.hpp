// How many parts the keys of a TOML text have. A parser makes a table of each part, one in the
// other, and walks and frees them recursively: a key of very many parts would exhaust the stack.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace postroom::cli {

inline constexpr std::size_t key_parts_max = 32;

// The line of the first key with more than `key_parts_max` parts. The text may be malformed.
std::optional<std::size_t> line_of_endless_key(std::string_view toml);

}  // namespace postroom::cli
