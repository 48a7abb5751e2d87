// JSON as text: quoting, and what is needed to put somebody else's JSON into a line of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace postroom::base {

// Appends `text` as a JSON string, whatever its bytes: ill-formed pieces become U+FFFD, and what
// could deceive a reader (is_deceptive()) is escaped.
void append_json_string(std::string& out, std::string_view text);

// Appends \uXXXX, or two of them for a character beyond U+FFFF.
void append_json_escape(std::string& out, std::uint32_t code_point);

// `json` without white space between its tokens, and so on one line; every token stays as it was
// written, numbers of any length included, but for characters that could deceive a reader, which
// are escaped. nullopt when it is not one JSON value (RFC 8259) in valid UTF-8, names half of a
// surrogate pair, or is nested deeper than 256 levels.
std::optional<std::string> compact_json(std::string_view json);

}  // namespace postroom::base
