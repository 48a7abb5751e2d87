#include "runtime/worker_pool.hpp"

#include <algorithm>
#include <utility>

namespace postroom {

WorkerPool::WorkerPool(std::uint32_t count, std::function<bool()> work) : work_(std::move(work)) {
    for (std::uint32_t i = 0; i < count; ++i)
        threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

void WorkerPool::wake(std::size_t count) {
    const base::MutexLock lock(mutex_);
    ++calls_;
    if (count >= sleeping_) return woken_.notify_all();
    for (std::size_t i = 0; i < count; ++i) woken_.notify_one();
}

void WorkerPool::stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
}

void WorkerPool::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        std::uint64_t seen = 0;
        {
            const base::MutexLock lock(mutex_);
            seen = calls_;
        }
        if (work_()) continue;
        base::MutexLock lock(mutex_);
        ++sleeping_;
        woken_.wait(lock, stop, [&]() POSTROOM_REQUIRES(mutex_) { return calls_ != seen; });
        --sleeping_;
    }
}

}  // namespace postroom
