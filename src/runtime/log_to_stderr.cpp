#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>

#include "postroom/clock.hpp"
#include "postroom/observer.hpp"

namespace postroom {

void log_to_stderr(LogLevel level, std::string_view text) {
    const Instant now = SystemClock().now();
    const auto second = std::chrono::floor<std::chrono::seconds>(now);
    const std::string line = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z {} {}\n",
                                         fmt::gmtime(std::chrono::system_clock::to_time_t(second)),
                                         (now - second).count(), to_string(level), text);
    // In one piece, because standard error has no buffer that would keep a line together.
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace postroom
