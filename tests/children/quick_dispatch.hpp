// What children with a dispatcher share: short times, a last word, and an end on request.
#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>

#include "postroom/dispatcher.hpp"

namespace postroom::test {

// Lost leases are noticed soon, and nothing is purged: the judges look at all of it.
inline DispatcherOptions quick_dispatch(Duration lease) {
    return {.lease = lease,
            .poll_interval_max = std::chrono::milliseconds{50},
            .reap_interval = std::chrono::milliseconds{100},
            .retention = Duration::zero()};
}

// One line to the test, at once.
inline void say(const std::string& line) {
    const std::string text = line + '\n';
    if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) ::_exit(1);
}

// Returns when the test closes this process's input; until then `on_word` hears of all that comes.
inline void wait_for_end_of_input(const std::function<void()>& on_word) {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) on_word();
}

}  // namespace postroom::test
