// Log lines of the relay: as LogObserver writes them, or as JSON for machines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/output/table.hpp"
#include "daemon/relay_plan.hpp"
#include "postroom/clock.hpp"
#include "postroom/observer.hpp"

namespace postroom::daemon {

// Of a value in a log line.
inline constexpr std::size_t value_chars_max = 1000;

// `NAME key=value key="a value"` as {"ts":...,"level":...,"event":"NAME","key":"value"}. Figures
// become numbers.
std::string json_log_line(Instant time, LogLevel level, std::string_view text);

// A log line for a reader at a terminal: the time of day (UTC), and the message id as the only
// one of a message's names, in rows that break between words.
std::string terminal_log_line(Instant time, LogLevel level, std::string_view text,
                              const cli::Layout& layout);

// Writes one line to standard error in the form that `plan` asks for, unless it is below its level.
void write_log(const LogPlan& plan, LogLevel level, std::string_view text);

LogOptions log_options(const LogPlan& plan);

}  // namespace postroom::daemon
