// Text for people: what may be shown on a terminal, times and durations as words, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom::cli {

// `text` without anything that could move a terminal's cursor, end a line or disguise it: control
// characters, ill-formed UTF-8 and marks of direction are shown as escapes.
std::string printable(std::string_view text);

// At most `width` characters; longer ones end with "...".
std::string shortened(std::string_view text, std::size_t width);

// Drivers speak in several lines with tabs; the user gets one.
std::string one_line(std::string_view text);

// Writes to standard output. Throws Failure when it cannot.
void print(std::string_view text);
// One line to standard error, which the program's name precedes.
void complain(std::string_view text);

// "2026-01-31T12:00:00.000Z"
std::string format_time(Instant time);
// Takes what format_time() writes, with or without a fraction, and an offset such as +02:00.
std::optional<Instant> parse_time(std::string_view text);

// "1d 3h", "12s", "250ms": the two largest units.
std::string format_duration(Duration duration);
// A number and one of us, ms, s, m, h, d, w; "0" alone too.
std::optional<Duration> parse_duration(std::string_view text);

std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace postroom::cli
