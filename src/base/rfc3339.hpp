// Points in time as RFC 3339 text, in UTC with microseconds: 2026-01-31T12:00:00.000001Z.
#pragma once

#include <chrono>
#include <string>

namespace postroom::base {

std::string rfc3339(std::chrono::sys_time<std::chrono::microseconds> time);

}  // namespace postroom::base
