// The state of a queue in words and numbers, for people.
#pragma once

#include <cstdint>
#include <string>

#include "admin/messages.hpp"

namespace postroom::cli {

// "~" precedes a number that is an estimate.
std::string count_text(const Counts& counts, std::uint64_t count);
// How long the oldest message that is neither done nor dead has waited; "-" for none.
std::string oldest_text(const admin::QueueStatus& status);
// "12.3/s"
std::string rate_text(double per_second);

// Why nothing is delivered; empty when that is not held.
std::string hold_line(const admin::QueueStatus& status);
// A line for each topic that is paused, and for each destination that is down.
std::string paused_lines(const admin::QueueStatus& status);
std::string down_lines(const admin::QueueStatus& status);

}  // namespace postroom::cli
