// UTF-16 in the byte order of this machine, as some drivers take texts.
#pragma once

#include <string>
#include <string_view>

namespace postroom::base {

// Ill-formed pieces become U+FFFD, in either direction.
std::u16string to_utf16(std::string_view text);
// Whether there is a half of a pair in it.
bool has_surrogates(std::u16string_view text);

std::string to_utf8(std::u16string_view text);

}  // namespace postroom::base
