#include "base/duration_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace postroom::base {

namespace {

struct TimeUnit {
    std::string_view name;
    std::int64_t microseconds;
};

constexpr std::array time_units{TimeUnit{"w", 604'800'000'000},
                                TimeUnit{"d", 86'400'000'000},
                                TimeUnit{"h", 3'600'000'000},
                                TimeUnit{"m", 60'000'000},
                                TimeUnit{"s", 1'000'000},
                                TimeUnit{"ms", 1'000},
                                TimeUnit{"us", 1}};

}  // namespace

std::string format_duration(Duration duration) {
    if (duration < Duration::zero()) return "-" + format_duration(-duration);
    std::int64_t left = duration.count();
    for (std::size_t i = 1; i < time_units.size(); ++i) {
        if (left < time_units[i].microseconds) continue;
        std::string out =
            fmt::format("{}{}", left / time_units[i].microseconds, time_units[i].name);
        left %= time_units[i].microseconds;
        const bool has_next = time_units[i].microseconds > 1'000'000;
        if (has_next && left >= time_units[i + 1].microseconds)
            out +=
                fmt::format(" {}{}", left / time_units[i + 1].microseconds, time_units[i + 1].name);
        return out;
    }
    return "0s";
}

std::optional<Duration> parse_duration(std::string_view text) {
    if (text == "0") return Duration::zero();
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || number < 0) return std::nullopt;
    const std::string_view name(stopped, static_cast<std::size_t>(end - stopped));
    for (const TimeUnit& unit : time_units) {
        if (unit.name != name) continue;
        if (number > std::numeric_limits<std::int64_t>::max() / unit.microseconds)
            return std::nullopt;
        return Duration{number * unit.microseconds};
    }
    return std::nullopt;
}

}  // namespace postroom::base
