#include "backends/mysql/times.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace postroom::mysql {

namespace {

using namespace std::chrono;

constexpr auto earliest = sys_days{year{1} / 1 / 1};
constexpr auto latest = sys_days{year{10000} / 1 / 1};

}  // namespace

MYSQL_TIME to_datetime(Instant time) {
    const auto clamped =
        std::clamp(time.time_since_epoch(), duration_cast<Duration>(earliest.time_since_epoch()),
                   duration_cast<Duration>(latest.time_since_epoch()) - Duration{1});
    const auto day = floor<days>(clamped);
    const year_month_day date{sys_days{day}};
    const hh_mm_ss clock{duration_cast<microseconds>(clamped - day)};
    MYSQL_TIME out{};
    out.year = static_cast<unsigned>(static_cast<int>(date.year()));
    out.month = static_cast<unsigned>(date.month());
    out.day = static_cast<unsigned>(date.day());
    out.hour = static_cast<unsigned>(clock.hours().count());
    out.minute = static_cast<unsigned>(clock.minutes().count());
    out.second = static_cast<unsigned>(clock.seconds().count());
    out.second_part = static_cast<unsigned long>(clock.subseconds().count());
    out.time_type = MYSQL_TIMESTAMP_DATETIME;
    return out;
}

std::string to_datetime_text(Instant time) {
    const MYSQL_TIME t = to_datetime(time);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", t.year, t.month, t.day, t.hour,
                       t.minute, t.second, t.second_part);
}

Instant from_datetime(const MYSQL_TIME& time) {
    const sys_days day{year{static_cast<int>(time.year)} / month{time.month} /
                       std::chrono::day{time.day}};
    return Instant{
        duration_cast<Duration>(day.time_since_epoch()) +
        duration_cast<Duration>(hours{time.hour} + minutes{time.minute} + seconds{time.second}) +
        duration_cast<Duration>(microseconds{time.second_part})};
}

}  // namespace postroom::mysql
