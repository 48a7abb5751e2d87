// Durations as words, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom::base {

// "1d 3h", "12s", "250ms": the two largest units.
std::string format_duration(Duration duration);
// A number and one of us, ms, s, m, h, d, w; "0" alone too.
std::optional<Duration> parse_duration(std::string_view text);

}  // namespace postroom::base
