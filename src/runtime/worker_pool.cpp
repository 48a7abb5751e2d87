#include "runtime/worker_pool.hpp"

#include <algorithm>
#include <utility>

namespace postroom {

WorkerPool::WorkerPool(std::uint32_t count, std::function<bool()> work) : work_(std::move(work)) {
    for (std::uint32_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
}

void WorkerPool::wake(std::size_t count) {
    std::size_t sleepers = 0;
    {
        const base::MutexLock lock(mutex_);
        ++calls_;
        sleepers = sleeping_;
    }
    if (count >= sleepers) return woken_.notify_all();
    for (std::size_t i = 0; i < count; ++i) woken_.notify_one();
}

void WorkerPool::stop() {
    {
        const base::MutexLock lock(mutex_);
        stopping_ = true;
    }
    woken_.notify_all();
    threads_.clear();
}

void WorkerPool::run() {
    for (;;) {
        std::uint64_t seen = 0;
        {
            const base::MutexLock lock(mutex_);
            if (stopping_) return;
            seen = calls_;
        }
        if (work_()) continue;
        base::MutexLock lock(mutex_);
        ++sleeping_;
        woken_.wait(lock, [&]() POSTROOM_REQUIRES(mutex_) { return stopping_ || calls_ != seen; });
        --sleeping_;
    }
}

}  // namespace postroom
