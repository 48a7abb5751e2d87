// Waiting that can be asked to stop: sleep_for(), and look_until() for what can only be looked at.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "base/mutex.hpp"

namespace postroom::base {

// The end of a wait of `timeout` from now. Waits longer than a day would leave the range of the
// clock, and whoever waits that long can begin once more.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::microseconds timeout) {
    using std::chrono::microseconds;
    return std::chrono::steady_clock::now() +
           std::clamp(timeout, microseconds::zero(), microseconds{std::chrono::hours{24}});
}

// False: the stop came first, perhaps before the call.
template <class Rep, class Period>
bool sleep_for(const std::stop_token& stop, const std::chrono::duration<Rep, Period>& time) {
    Mutex mutex;
    CondVar never;
    MutexLock lock(mutex);
    never.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
}

// Calls `look`, and again after each `interval`, until it says true. False: it did not within
// `timeout`, or the stop came first.
template <class Look>
bool look_until(const Look& look, std::chrono::microseconds interval,
                std::chrono::microseconds timeout, const std::stop_token& stop) {
    const auto deadline = deadline_after(timeout);
    while (!look()) {
        const auto left = std::chrono::ceil<std::chrono::microseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left <= left.zero() || !sleep_for(stop, std::min(interval, left))) return false;
    }
    return true;
}

}  // namespace postroom::base
