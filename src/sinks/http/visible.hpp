// Characters that may stand in a URL or a header as they are.
#pragma once

#include <algorithm>
#include <string_view>

namespace postroom::sink_http {

// No spaces, no control characters, nothing beyond ASCII.
inline bool is_visible_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace postroom::sink_http
