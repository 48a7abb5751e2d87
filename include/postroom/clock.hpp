// Clock and Random: the two things the core never reaches for by itself.
//
// Leases, due times and retries are judged by the database's clock. These interfaces serve what
// happens on the client: message ids, jitter, pacing. The core takes them by reference, so that
// tests and the simulator can hand in virtual time and seeded numbers.
//
// Thread safety: implementations must allow concurrent calls.
#pragma once

#include <chrono>
#include <cstdint>

namespace postroom {

using Duration = std::chrono::microseconds;
using Instant = std::chrono::sys_time<Duration>;

class Clock {
public:
    virtual ~Clock() = default;
    virtual Instant now() const = 0;
};

class Random {
public:
    virtual ~Random() = default;
    // 64 uniformly distributed bits.
    virtual std::uint64_t next() = 0;
};

// The machine's wall clock.
class SystemClock final : public Clock {
public:
    Instant now() const override;
};

// Time that never jumps, for everything a process measures by itself. Its instants mean nothing
// outside this process.
class MonotonicClock final : public Clock {
public:
    Instant now() const override;
};

// It has no state, so all share one.
const MonotonicClock& monotonic_clock();

}  // namespace postroom
