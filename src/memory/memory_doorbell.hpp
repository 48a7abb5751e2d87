// MemoryDoorbell: the bell of a queue that lives in this process.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/mutex.hpp"
#include "postroom/store.hpp"

namespace postroom {

// What the doorbells of one queue share.
struct MemoryBell {
    base::Mutex mutex;
    base::CondVar rung;
    std::uint64_t count POSTROOM_GUARDED_BY(mutex) = 0;
};

class MemoryDoorbell final : public Doorbell {
public:
    explicit MemoryDoorbell(MemoryBell& bell) : bell_(bell) {
        const base::MutexLock lock(bell_.mutex);
        heard_ = bell_.count;
    }

    void ring() noexcept override {
        const base::MutexLock lock(bell_.mutex);
        ++bell_.count;
        bell_.rung.notify_all();
    }

    bool wait(Duration timeout, std::stop_token stop) override {
        // A deadline has to be a time that exists.
        timeout = std::min<Duration>(timeout, std::chrono::hours{24});
        base::MutexLock lock(bell_.mutex);
        const bool rung = bell_.rung.wait_for(
            lock, std::move(stop), timeout,
            [this]() POSTROOM_REQUIRES(bell_.mutex) { return bell_.count != heard_; });
        heard_ = bell_.count;
        return rung;
    }

private:
    MemoryBell& bell_;
    std::uint64_t heard_ = 0;  // of the waiting thread
};

}  // namespace postroom
