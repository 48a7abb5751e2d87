#include "base/rfc3339.hpp"

#include <fmt/format.h>

#include <charconv>

namespace postroom::base {

namespace {

bool digits(std::string_view text, std::size_t at, std::size_t count, int& out) {
    if (text.size() < at + count) return false;
    const char* const end = text.data() + at + count;
    const auto [stopped, error] = std::from_chars(text.data() + at, end, out);
    return error == std::errc() && stopped == end && text[at] != '-';
}

// The fraction behind the dot, in microseconds; moves `rest` behind it.
bool take_fraction(std::string_view& rest, Duration& out) {
    if (!rest.starts_with('.')) return true;
    rest.remove_prefix(1);
    std::int64_t scale = 100'000;
    std::size_t count = 0;
    while (count < rest.size() && rest[count] >= '0' && rest[count] <= '9') {
        out += Duration{(rest[count] - '0') * scale};
        scale /= 10;
        ++count;
    }
    rest.remove_prefix(count);
    return count > 0;
}

std::optional<Duration> parse_offset(std::string_view text) {
    if (text == "Z" || text == "z") return Duration::zero();
    int hours = 0;
    int minutes = 0;
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':' ||
        !digits(text, 1, 2, hours) || !digits(text, 4, 2, minutes) || hours > 23 || minutes > 59)
        return std::nullopt;
    const Duration offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
    return text[0] == '-' ? -offset : offset;
}

}  // namespace

std::string rfc3339(Instant time) {
    using namespace std::chrono;
    const sys_days day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
}

std::string rfc3339_milliseconds(Instant time) {
    constexpr std::size_t kept = sizeof("2026-01-31T12:00:00.000") - 1;
    return rfc3339(time).substr(0, kept) + "Z";
}

std::optional<Instant> parse_time(std::string_view text) {
    int year = 0;
    int month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    if (text.size() < 20 || text[4] != '-' || text[7] != '-' ||
        (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':')
        return std::nullopt;
    if (!digits(text, 0, 4, year) || !digits(text, 5, 2, month) || !digits(text, 8, 2, day) ||
        !digits(text, 11, 2, hour) || !digits(text, 14, 2, minute) || !digits(text, 17, 2, second))
        return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{year},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
    std::string_view rest = text.substr(19);
    Duration fraction{};
    if (!take_fraction(rest, fraction)) return std::nullopt;
    const std::optional<Duration> offset = parse_offset(rest);
    if (!offset) return std::nullopt;
    const Instant time = Instant(std::chrono::sys_days(date)) + std::chrono::hours{hour} +
                         std::chrono::minutes{minute} + std::chrono::seconds{second} + fraction -
                         *offset;
    // An offset may lead to a year that has no four digits.
    using std::chrono::January;
    const std::chrono::sys_days first{std::chrono::year{0} / January / 1};
    const std::chrono::sys_days behind{std::chrono::year{10'000} / January / 1};
    if (time < first || time >= behind) return std::nullopt;
    return time;
}

}  // namespace postroom::base
