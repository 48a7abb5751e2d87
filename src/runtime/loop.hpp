// Loop: a thread that calls a step whenever it is due, or somebody wakes it.
//
// Thread safety: wake() from any thread; stop() by the owner. The thread ends with the object.
#pragma once

#include <functional>
#include <stop_token>
#include <thread>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"

namespace postroom {

class Loop {
public:
    // `step` is given the time and returns when it wants to be called again. Must not throw.
    using Step = std::function<Instant(Instant now, std::stop_token stop)>;

    Loop(const Clock& clock, Step step);
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;
    ~Loop() { stop(); }

    void wake();
    // Returns when the thread has ended. Does nothing the second time.
    void stop();

private:
    void run(const std::stop_token& stop);

    const Clock& clock_;
    const Step step_;

    base::Mutex mutex_;
    base::CondVar woken_;
    bool wake_ POSTROOM_GUARDED_BY(mutex_) = false;

    std::jthread thread_;  // last: it uses all of the above
};

}  // namespace postroom
