// Text for people: what may be shown on a terminal, times and durations as words, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/duration_text.hpp"
#include "base/printable.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"
#include "postroom/clock.hpp"

namespace postroom::cli {

// For whatever comes from elsewhere and goes to a terminal.
using base::printable;

using base::shortened;

// Drivers speak in several lines with tabs; the user gets one.
std::string one_line(std::string_view text);

// Writes to standard output. Throws Failure when it cannot.
void print(std::string_view text);
// One line to standard error, which the program's name precedes.
void complain(std::string_view text);

// "2026-01-31T12:00:00.000Z"
std::string format_time(Instant time);
using base::parse_time;

using base::format_duration;
using base::parse_duration;

// "a; b", and "a? B" behind a question.
std::string continued(std::string_view text, std::string_view more);

// "1 message", "2 messages"
std::string counted(std::uint64_t count, std::string_view what);

std::optional<std::int64_t> parse_integer(std::string_view text);
// "1.5"
std::optional<double> parse_decimal(std::string_view text);

}  // namespace postroom::cli
