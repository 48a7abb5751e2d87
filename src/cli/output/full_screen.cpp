#include "cli/output/full_screen.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cli/failure.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

namespace {

constexpr std::string_view other_screen = "\033[?1049h\033[?25l";
constexpr std::string_view screen_from_before = "\033[?25h\033[?1049l";
constexpr std::string_view top_left = "\033[H";
constexpr std::string_view rest_of_line = "\033[K";
constexpr std::string_view rest_of_screen = "\033[J";
// How soon a stop is noticed.
constexpr std::chrono::milliseconds look_every{50};

}  // namespace

FullScreen::FullScreen() {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 ||
        ::tcgetattr(STDIN_FILENO, &before_) != 0)
        throw Failure(ExitCode::usage, "this needs a terminal; 'postroom status' prints once");
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    print(other_screen);
}

FullScreen::~FullScreen() {
    // A terminal that is gone has nothing to be restored.
    static_cast<void>(::write(STDOUT_FILENO, screen_from_before.data(), screen_from_before.size()) <
                      0);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

void FullScreen::show(std::string_view text) const {
    const std::size_t rows = terminal_height(STDOUT_FILENO);
    std::string drawn(top_left);
    for (std::size_t row = 0; row < rows && !text.empty(); ++row) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (row > 0) drawn += '\n';
        drawn += text.substr(0, end);
        drawn += rest_of_line;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    print(drawn += rest_of_screen);
}

Key FullScreen::key_within(Duration time, const std::stop_token& stop) const {
    const auto until = std::chrono::steady_clock::now() + time;
    while (!stop.stop_requested()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        if (left.count() <= 0) return Key::none;
        pollfd keyboard{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        if (::poll(&keyboard, 1, static_cast<int>(std::min(left, look_every).count())) <= 0)
            continue;
        char key = 0;
        if (::read(STDIN_FILENO, &key, 1) != 1) return Key::quit;
        return key == 'q' || key == 'Q' ? Key::quit : Key::other;
    }
    return Key::quit;
}

}  // namespace postroom::cli
