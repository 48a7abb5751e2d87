// wait_until: polls for something that happens in another thread, process or server.
#pragma once

#include <chrono>
#include <thread>

namespace postroom::test {

// Asks `predicate` every few milliseconds until it says true or `timeout` has passed; returns its
// last answer. It is asked at least once, and once more after the time is up.
template <typename Predicate>
bool wait_until(Predicate&& predicate, std::chrono::milliseconds timeout,
                std::chrono::milliseconds interval = std::chrono::milliseconds(5)) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < deadline) {
        if (predicate()) return true;
        std::this_thread::sleep_for(interval);
    }
    return predicate();
}

}  // namespace postroom::test
