// What may stand in a header of a request, and which headers are not anybody's to set.
#pragma once

#include <string>
#include <string_view>

namespace postroom::sink_http {

// What HTTP takes as the name of a header.
bool is_token(std::string_view name);
// Visible ASCII characters and spaces.
bool is_header_value(std::string_view value);
// Those that say how the message is carried, and those of our own.
bool is_reserved(std::string_view name);

std::string lower(std::string_view text);
std::string_view without_spaces(std::string_view text);

}  // namespace postroom::sink_http
