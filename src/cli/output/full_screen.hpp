// FullScreen: the terminal as one page that is drawn again and again, and keys that count at once.
// The screen from before is back when the object is gone.
#pragma once

#include <termios.h>

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom::cli {

enum class Key : std::uint8_t { none, quit, other };

class FullScreen {
public:
    // Throws Failure when standard input or output is no terminal.
    FullScreen();
    ~FullScreen();
    FullScreen(const FullScreen&) = delete;
    FullScreen& operator=(const FullScreen&) = delete;

    // Draws `text`, as many of its lines as there is room for.
    void show(std::string_view text) const;
    // The next key within `time`: q, or the end of the terminal's input, is `quit`. A stop is too.
    Key key_within(Duration time, const std::stop_token& stop) const;

private:
    termios before_{};
};

}  // namespace postroom::cli
