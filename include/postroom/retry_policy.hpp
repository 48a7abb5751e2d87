// RetryPolicy: how long to wait after a failed attempt, and when to give up.
//
// One form serves all: the delay after the n-th failed attempt is
//
//     min(cap, base * factor^(n-1)), times a random number in [1 - jitter, 1 + jitter), at most cap
//
// or whatever a function of yours says (`own`). A delay that a handler asks for itself wins over
// both; losses (leases that ran out) do not count as failed attempts.
//
// Thread safety: a plain value; `own` is called from many threads at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "postroom/clock.hpp"

namespace postroom {

struct RetryPolicy {
    Duration base = std::chrono::seconds{2};
    double factor = 2.0;  // 1: constant
    Duration cap = std::chrono::seconds{60};
    double jitter = 0.0;              // 0: none; 0.5: times 0.5 to 1.5
    std::uint32_t max_attempts = 10;  // deliveries in total, the first one included
    // Takes the place of the formula: the delay after so many failed attempts. One below a
    // microsecond is a microsecond. What it throws is swallowed, and the formula holds.
    std::function<Duration(std::uint32_t failed_attempts)> own{};

    // 2, 4, 8, ... 60 s, no jitter, 10 attempts: the default.
    static RetryPolicy standard();
    // 200, 400, 800 ms, ... 60 s, times 0.5 to 1.5, 10 attempts.
    static RetryPolicy fast();
    // 2, 4, 8, ... minutes up to 24 hours, 3 attempts.
    static RetryPolicy minutes();
    // 10 s each time, 5 attempts.
    static RetryPolicy steady();
    // 20, 40, 80, ... s up to 10 minutes, times 0.5 to 1.5, 5 attempts.
    static RetryPolicy steady_exponential();

    // The delay after `failed_attempts` failures (0 is taken as 1), at least a microsecond and by
    // the formula at most `cap`, however many they are. Draws from `random` only if there is
    // jitter.
    Duration delay(std::uint32_t failed_attempts, Random& random) const;

    // Whether a message delivered that often and failed every time is dead.
    bool exhausted(std::uint32_t deliveries) const { return deliveries >= max_attempts; }

    // False for one with a function: nobody can say what it does.
    friend bool operator==(const RetryPolicy& a, const RetryPolicy& b) {
        return !a.own && !b.own && a.base == b.base && a.factor == b.factor && a.cap == b.cap &&
               a.jitter == b.jitter && a.max_attempts == b.max_attempts;
    }
};

// Throws std::invalid_argument naming the field and the limit that `policy` breaks:
// base > 0, factor >= 1 and finite, cap >= base, 0 <= jitter < 1, max_attempts >= 1.
void validate(const RetryPolicy& policy);

inline RetryPolicy RetryPolicy::standard() { return {}; }

inline RetryPolicy RetryPolicy::fast() {
    return {.base = std::chrono::milliseconds{200}, .jitter = 0.5};
}

inline RetryPolicy RetryPolicy::minutes() {
    return {.base = std::chrono::minutes{2}, .cap = std::chrono::hours{24}, .max_attempts = 3};
}

inline RetryPolicy RetryPolicy::steady() {
    return {.base = std::chrono::seconds{10}, .factor = 1.0, .max_attempts = 5};
}

inline RetryPolicy RetryPolicy::steady_exponential() {
    return {.base = std::chrono::seconds{20},
            .cap = std::chrono::minutes{10},
            .jitter = 0.5,
            .max_attempts = 5};
}

}  // namespace postroom
