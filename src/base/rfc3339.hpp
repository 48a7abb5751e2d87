// Points in time as RFC 3339 text, in UTC with microseconds: 2026-01-31T12:00:00.000001Z.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom::base {

std::string rfc3339(Instant time);

// `time` as text cut to milliseconds, for people: 2026-01-31T12:00:00.000Z.
std::string rfc3339_milliseconds(Instant time);

// Reads RFC 3339 text, with or without a fraction and with an offset such as +02:00, for the years
// 0 to 9999 in UTC.
std::optional<Instant> parse_time(std::string_view text);

}  // namespace postroom::base
