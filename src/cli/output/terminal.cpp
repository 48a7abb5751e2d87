#include "cli/output/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace postroom::cli {

namespace {

constexpr std::size_t usual_width = 80;
constexpr std::size_t usual_height = 24;

winsize size_of(int descriptor) {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

std::optional<std::size_t> terminal_width(int descriptor) {
    if (::isatty(descriptor) == 0) return std::nullopt;
    const std::size_t columns = size_of(descriptor).ws_col;
    return columns > 0 ? columns : usual_width;
}

std::size_t terminal_height(int descriptor) {
    const std::size_t rows = size_of(descriptor).ws_row;
    return rows > 0 ? rows : usual_height;
}

bool takes_colors(int descriptor) {
    return ::isatty(descriptor) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

std::string in_color(Color color, std::string_view text) {
    constexpr std::array codes{0, 31, 32, 33, 36};
    if (color == Color::none) return std::string(text);
    return fmt::format("\033[{}m{}\033[0m", codes.at(static_cast<std::size_t>(color)), text);
}

}  // namespace postroom::cli
