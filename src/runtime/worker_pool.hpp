// WorkerPool: the threads that run handlers.
//
// Thread safety: wake() from any thread; stop() by the owner, not by a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

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

    // Threads sleep on the number itself: a mutex with a condition costs two more calls of the
    // kernel for every message.
    std::atomic<std::uint32_t> calls_{0};  // of wake() and stop(): none is missed
    std::atomic<std::uint32_t> sleeping_{0};
    std::atomic<bool> stopping_{false};

    std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace postroom
