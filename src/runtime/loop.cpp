#include "runtime/loop.hpp"

#include <algorithm>
#include <utility>

namespace postroom {

namespace {

// Even a step that wants to sleep for ever looks again now and then.
constexpr Duration loop_sleep_max = std::chrono::seconds{30};

}  // namespace

Loop::Loop(const Clock& clock, Step step)
    : clock_(clock),
      step_(std::move(step)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Loop::wake() {
    const base::MutexLock lock(mutex_);
    wake_ = true;
    woken_.notify_one();
}

void Loop::stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

void Loop::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        {
            const base::MutexLock lock(mutex_);
            wake_ = false;
        }
        const Instant next = step_(clock_.now(), stop);
        const Instant now = clock_.now();
        if (next <= now) continue;
        const Duration sleep = std::min(next - now, loop_sleep_max);
        base::MutexLock lock(mutex_);
        woken_.wait_for(lock, stop, sleep, [this]() POSTROOM_REQUIRES(mutex_) { return wake_; });
    }
}

}  // namespace postroom
