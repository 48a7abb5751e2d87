#include "cli/output/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <limits>

#include "base/utf8.hpp"
#include "cli/failure.hpp"

namespace postroom::cli {

namespace {

struct Unit {
    std::string_view name;
    std::int64_t microseconds;
};

constexpr std::array units{Unit{"w", 604'800'000'000},
                           Unit{"d", 86'400'000'000},
                           Unit{"h", 3'600'000'000},
                           Unit{"m", 60'000'000},
                           Unit{"s", 1'000'000},
                           Unit{"ms", 1'000},
                           Unit{"us", 1}};

// C1 controls, line separators and marks of direction, as UTF-8.
bool disguises(std::string_view sequence) {
    if (sequence.size() == 2) return sequence[0] == '\xC2' && sequence[1] < '\xA0';
    if (sequence.size() != 3 || sequence[0] != '\xE2') return false;
    const std::string_view tail = sequence.substr(1);
    return (tail >= "\x80\x8B" && tail <= "\x80\x8F") ||
           (tail >= "\x80\xA8" && tail <= "\x80\xAE") || (tail >= "\x81\xA0" && tail <= "\x81\xAF");
}

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

std::string printable(std::string_view text) {
    std::string out;
    const std::string clean = base::sanitize_utf8(text);
    for (std::size_t i = 0; i < clean.size();) {
        const auto first = static_cast<unsigned char>(clean[i]);
        const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        const std::string_view sequence = std::string_view(clean).substr(i, length);
        if (length == 1 && (first < 0x20 || first == 0x7F)) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned>(first));
        } else if (disguises(sequence)) {
            for (const char byte : sequence)
                out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        } else {
            out += sequence;
        }
        i += length;
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t width) {
    if (base::code_point_count(text) <= width) return std::string(text);
    return std::string(base::truncate_utf8(text, width < 3 ? 0 : width - 3)) + "...";
}

void print(std::string_view text) {
    // Not through stdio: a full disk or a closed pipe must be noticed here, not at exit.
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw Failure(ExitCode::failed, "standard output cannot be written to");
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::string one_line(std::string_view text) {
    std::string joined;
    for (const char c : text) {
        if (c == '\t') {
            joined += ' ';
        } else if (c != '\n') {
            joined += c;
        } else if (!joined.empty() && !joined.ends_with("; ")) {
            joined += "; ";
        }
    }
    while (joined.ends_with("; ")) joined.resize(joined.size() - 2);
    return joined;
}

void complain(std::string_view text) {
    const std::string line = fmt::format("postroom: {}\n", printable(one_line(text)));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string format_time(Instant time) {
    const auto second = std::chrono::floor<std::chrono::seconds>(time);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(second)),
                       (time - second).count() / 1000);
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
    return Instant(std::chrono::sys_days(date)) + std::chrono::hours{hour} +
           std::chrono::minutes{minute} + std::chrono::seconds{second} + fraction - *offset;
}

std::string format_duration(Duration duration) {
    if (duration < Duration::zero()) return "-" + format_duration(-duration);
    std::int64_t left = duration.count();
    for (std::size_t i = 1; i < units.size(); ++i) {
        if (left < units[i].microseconds) continue;
        std::string out = fmt::format("{}{}", left / units[i].microseconds, units[i].name);
        left %= units[i].microseconds;
        const bool has_next = units[i].microseconds > 1'000'000;
        if (has_next && left >= units[i + 1].microseconds)
            out += fmt::format(" {}{}", left / units[i + 1].microseconds, units[i + 1].name);
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
    for (const Unit& unit : units) {
        if (unit.name != name) continue;
        if (number > std::numeric_limits<std::int64_t>::max() / unit.microseconds)
            return std::nullopt;
        return Duration{number * unit.microseconds};
    }
    return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stopped != end || text.empty()) return std::nullopt;
    return number;
}

}  // namespace postroom::cli
