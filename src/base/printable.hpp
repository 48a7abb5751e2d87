// Text of others that is shown: what could make a terminal or a reader see something else than what
// is written there is escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace postroom::base {

// Controls (C0, DEL, C1), line separators, marks that turn the direction of text, and characters
// that take no place.
bool is_deceptive(std::uint32_t code_point);

// `text` with such characters as \xNN, byte by byte, and ill-formed pieces and NUL as U+FFFD.
std::string printable(std::string_view text);

}  // namespace postroom::base
