// MonotonicClock: time that never jumps, for everything a process measures by itself. Its instants
// mean nothing outside this process.
#pragma once

#include "postroom/clock.hpp"

namespace postroom {

class MonotonicClock final : public Clock {
public:
    Instant now() const override {
        return Instant{std::chrono::duration_cast<Duration>(
            std::chrono::steady_clock::now().time_since_epoch())};
    }
};

// It has no state, so all share one.
inline const MonotonicClock& monotonic_clock() {
    static const MonotonicClock clock;
    return clock;
}

}  // namespace postroom
