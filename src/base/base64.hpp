// Base64 (RFC 4648 section 4, standard alphabet, padded).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace postroom::base {

std::string base64_encode(std::string_view bytes);

// Strict: every byte string has exactly one accepted spelling. Nothing for missing padding, stray
// bits behind the last byte, white space, or any other character; signatures and payloads must not
// have two spellings.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace postroom::base
