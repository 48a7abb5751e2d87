#include "runtime/worker_pool.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/futex.hpp"

namespace postroom {

WorkerPool::WorkerPool(std::uint32_t count, std::function<bool()> work) : work_(std::move(work)) {
    try {
        for (std::uint32_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
    } catch (...) {  // there is no further thread to be had
        stop();
        throw;
    }
}

void WorkerPool::wake(std::size_t count) {
    ++calls_;
    // Who falls asleep from here on sees the new number.
    const std::size_t sleepers = sleeping_;
    if (sleepers > 0) base::futex_wake(calls_, static_cast<int>(std::min(count, sleepers)));
}

void WorkerPool::stop() {
    stopping_ = true;
    ++calls_;
    base::futex_wake(calls_, std::numeric_limits<int>::max());
    threads_.clear();
}

void WorkerPool::run() {
    for (;;) {
        const std::uint32_t seen = calls_;
        if (stopping_) return;
        if (work_()) continue;
        ++sleeping_;
        base::futex_wait(calls_, seen);
        --sleeping_;
    }
}

}  // namespace postroom
