// The two sources of random numbers: the kernel's, and a repeatable one for tests and simulation.
#pragma once

#include <atomic>
#include <cstdint>

#include "postroom/clock.hpp"

namespace postroom::base {

// SystemRandom: numbers of getrandom(2), fetched in small chunks.
//
// Safe across fork(): what the parent had fetched and not yet used does not exist in the child, so
// lease ids and nonces of the two never come from the same bytes.
//
// Thread safety: may be shared; every thread has a chunk of its own.
class SystemRandom final : public Random {
public:
    // Throws std::system_error when the kernel has no random numbers to give.
    std::uint64_t next() override;
};

// SeededRandom: the same seed gives the same numbers on every machine (splitmix64). Not for
// anything that must not be guessed.
//
// Thread safety: may be shared; which thread gets which number is then up to the scheduler.
class SeededRandom final : public Random {
public:
    explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() override;

private:
    std::atomic<std::uint64_t> state_;
};

}  // namespace postroom::base
