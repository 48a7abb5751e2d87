#include "postroom/clock.hpp"

namespace postroom {

Instant SystemClock::now() const {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

Instant MonotonicClock::now() const {
    return Instant{
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

const MonotonicClock& monotonic_clock() {
    static const MonotonicClock clock;
    return clock;
}

}  // namespace postroom
