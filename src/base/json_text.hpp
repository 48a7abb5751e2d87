// JSON as text: quoting, and what is needed to put somebody else's JSON into a line of ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace postroom::base {

// Appends `text` as a JSON string. It must be valid UTF-8; control characters are escaped.
void append_json_string(std::string& out, std::string_view text);

// `json` without white space between its tokens, and so on one line; every token stays as it was
// written, numbers of any length included. nullopt when it is not one JSON value (RFC 8259) in
// valid UTF-8, or nested deeper than 256 levels.
std::optional<std::string> compact_json(std::string_view json);

}  // namespace postroom::base
