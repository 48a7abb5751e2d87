#include "daemon/log_lines.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "admin/workers.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/text.hpp"
#include "cli/output/wrap.hpp"

namespace postroom::daemon {

namespace {

// Where the value at the beginning of `rest` ends. A quoted one is escaped as in JSON.
std::size_t value_end(std::string_view rest) {
    if (!rest.starts_with('"')) return std::min(rest.find(' '), rest.size());
    for (std::size_t i = 1; i < rest.size(); ++i) {
        if (rest[i] == '\\') {
            ++i;
        } else if (rest[i] == '"') {
            return i + 1;
        }
    }
    return rest.size();
}

// A JSON number has no leading zeros: "007" is the name of something.
bool is_figure(std::string_view value) {
    const std::size_t dot = value.find('.');
    const std::string_view whole = value.substr(0, dot);
    const auto digits = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return digits(whole) && whole.size() <= 15 && (whole == "0" || whole[0] != '0') &&
           (dot == std::string_view::npos || digits(value.substr(dot + 1)));
}

// Names that users choose stay texts, whatever they look like.
bool is_figure_key(std::string_view key) {
    return key.ends_with("_ms") || key == "count" || key == "retry" || key == "max" ||
           key == "cycles" || key == "claimed" || key == "delivered" || key == "retried" ||
           key == "dead" || key == "released" || key == "lost" || key == "left" ||
           key == "store_failed" || key == "stores" || key == "sinks" || key == "routes" ||
           key == "pid" || key == "failures";
}

std::string_view event_of(std::string_view text) { return text.substr(0, text.find(' ')); }

// Calls `take` with each key and its value, which is quoted where the text has it quoted.
template <class Take>
void for_each_field(std::string_view text, const Take& take) {
    std::string_view rest = text;
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    while (rest.starts_with(' ')) {
        rest.remove_prefix(1);
        const std::size_t equals = rest.find('=');
        if (equals == std::string_view::npos) break;
        const std::string_view key = rest.substr(0, equals);
        rest.remove_prefix(equals + 1);
        const std::size_t end = value_end(rest);
        take(key, rest.substr(0, end));
        rest.remove_prefix(end);
    }
}

cli::Color color_of(LogLevel level) {
    if (level == LogLevel::error) return cli::Color::red;
    return level == LogLevel::warning ? cli::Color::yellow : cli::Color::none;
}

// A field as a reader likes it, who counts in seconds.
std::string terminal_field(std::string_view key, std::string_view value,
                           const std::string& destination) {
    if (key == "error" && value.starts_with('"'))
        return fmt::format("error=\"{}", admin::without_destination(value.substr(1), destination));
    const std::optional<double> delay =
        key == "delay_ms" ? cli::parse_decimal(value) : std::nullopt;
    if (!delay) return fmt::format("{}={}", key, value);
    const std::chrono::milliseconds rounded{std::llround(*delay)};
    return fmt::format("retry_in={}", cli::format_duration(rounded));
}

constexpr std::size_t rows_indent = 2;
constexpr std::size_t wrap_columns_min = 40;

}  // namespace

std::string json_log_line(Instant time, LogLevel level, std::string_view text) {
    cli::JsonObject line;
    line.add("ts", time).add("level", to_string(level)).add("event", event_of(text));
    for_each_field(text, [&](std::string_view key, std::string_view value) {
        if (value.starts_with('"') || (is_figure_key(key) && is_figure(value))) {
            line.add_json(key, value);
        } else {
            line.add(key, value);
        }
    });
    return line.text();
}

std::string terminal_log_line(Instant time, LogLevel level, std::string_view text,
                              const cli::Layout& layout) {
    constexpr std::size_t level_at = 9;
    constexpr std::size_t level_width = 7;
    const std::string word = fmt::format("{:<{}}", to_string(level), level_width);
    std::string line =
        fmt::format("{} {} {}", cli::format_time(time).substr(11, 8), word, event_of(text));
    std::string destination;
    for_each_field(text, [&](std::string_view key, std::string_view value) {
        if (key == "destination") destination = value;
        if (key != "id" && key != "key") line += " " + terminal_field(key, value, destination);
    });
    if (layout.width && *layout.width >= wrap_columns_min)
        line = cli::wrapped(line, rows_indent, *layout.width);
    // Behind the wrapping, for which a colour would be text.
    if (layout.colors) line.replace(level_at, level_width, cli::in_color(color_of(level), word));
    return line;
}

void write_log(const LogPlan& plan, LogLevel level, std::string_view text) {
    if (level < plan.level) return;
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    if (!plan.json && !terminal) return log_to_stderr(level, text);
    const Instant now = SystemClock().now();
    const std::string line =
        (plan.json ? json_log_line(now, level, text)
                   : terminal_log_line(now, level, text,
                                       {.width = cli::terminal_width(STDERR_FILENO),
                                        .colors = cli::takes_colors(STDERR_FILENO)})) +
        "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

LogOptions log_options(const LogPlan& plan) {
    return {
        .write = [plan](LogLevel level, std::string_view text) { write_log(plan, level, text); },
        .min_level = plan.level,
        .per_message_info = plan.per_message};
}

}  // namespace postroom::daemon
