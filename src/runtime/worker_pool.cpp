#include "runtime/worker_pool.hpp"

#include <algorithm>
#include <utility>

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
    if (count >= sleeping_) return calls_.notify_all();
    for (std::size_t i = 0; i < count; ++i) calls_.notify_one();
}

void WorkerPool::stop() {
    stopping_ = true;
    ++calls_;
    calls_.notify_all();
    threads_.clear();
}

void WorkerPool::run() {
    for (;;) {
        const std::uint32_t seen = calls_;
        if (stopping_) return;
        if (work_()) continue;
        ++sleeping_;
        calls_.wait(seen);
        --sleeping_;
    }
}

}  // namespace postroom
