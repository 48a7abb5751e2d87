#include "cli/output/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/rfc3339.hpp"
#include "base/utf8.hpp"
#include "cli/failure.hpp"
#include "cli/output/wrap.hpp"

namespace postroom::cli {

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
    const std::string line =
        fitted_to(STDERR_FILENO, fmt::format("postroom: {}\n", printable(one_line(text))));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string format_time(Instant time) { return base::rfc3339_milliseconds(time); }

std::string continued(std::string_view text, std::string_view more) {
    std::string next(more);
    if (!text.ends_with('?')) return fmt::format("{}; {}", text, next);
    if (!next.empty() && next[0] >= 'a' && next[0] <= 'z')
        next[0] = static_cast<char>(next[0] - 'a' + 'A');
    return fmt::format("{} {}", text, next);
}

std::string counted(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stopped != end || text.empty()) return std::nullopt;
    return number;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
    return parse_number<std::int64_t>(text);
}

std::optional<double> parse_decimal(std::string_view text) { return parse_number<double>(text); }

}  // namespace postroom::cli
