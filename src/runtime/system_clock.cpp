#include "postroom/clock.hpp"

namespace postroom {

Instant SystemClock::now() const {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

}  // namespace postroom
