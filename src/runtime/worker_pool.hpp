// WorkerPool: the threads that run handlers.
//
// Thread safety: wake() from any thread; stop() by the owner, not by a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace postroom {

class WorkerPool {
public:
    // `work` does one piece of work and returns true, or returns false when there is none; then the
    // thread sleeps until it is woken. Must not throw.
    WorkerPool(std::uint32_t count, std::function<bool()> work);
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;
    ~WorkerPool() { stop(); }

    // There is work for `count` threads.
    void wake(std::size_t count);
    // Returns when all of them have finished what they were doing.
    void stop();

private:
    void run();

    const std::function<bool()> work_;

    base::Mutex mutex_;
    base::Signal woken_;
    std::uint64_t calls_ POSTROOM_GUARDED_BY(mutex_) = 0;  // of wake(): none is missed
    std::size_t sleeping_ POSTROOM_GUARDED_BY(mutex_) = 0;
    bool stopping_ POSTROOM_GUARDED_BY(mutex_) = false;

    std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace postroom
