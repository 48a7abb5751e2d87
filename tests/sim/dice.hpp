// Dice: every choice of a simulated run, drawn from one seed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.hpp"
#include "postroom/clock.hpp"

namespace postroom::sim {

class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15U + 1) {}

    std::uint64_t next() { return random_.next(); }
    // Below `count`, which is above zero.
    std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
    // From `low` to `high`, both included.
    std::uint32_t range(std::uint32_t low, std::uint32_t high) {
        return low + static_cast<std::uint32_t>(below(high - low + 1));
    }
    bool chance(unsigned per_mille) { return per_mille > 0 && below(1000) < per_mille; }
    Duration between(Duration low, Duration high) {
        return low + Duration(static_cast<Duration::rep>(
                         below(static_cast<std::size_t>((high - low).count()) + 1)));
    }

private:
    base::SeededRandom random_;
};

}  // namespace postroom::sim
