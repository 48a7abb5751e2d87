#include "postroom/retry_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace postroom {

namespace {

// 53 random bits as a number in [0, 1).
double unit_interval(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

// The comparison is false for infinity and NaN too: whatever is not below the cap is the cap.
double capped(double microseconds, double cap) { return microseconds < cap ? microseconds : cap; }

std::optional<Duration> by_function(const RetryPolicy& policy, std::uint32_t failed_attempts) {
    if (!policy.own) return std::nullopt;
    try {
        return std::max(policy.own(failed_attempts), Duration{1});
    } catch (...) {
        return std::nullopt;
    }
}

[[noreturn]] void refuse(const std::string& complaint) {
    throw std::invalid_argument("retry policy: " + complaint);
}

}  // namespace

Duration RetryPolicy::delay(std::uint32_t failed_attempts, Random& random) const {
    if (const auto own_delay = by_function(*this, std::max(failed_attempts, 1u))) return *own_delay;
    const double limit = static_cast<double>(cap.count());
    const std::uint32_t steps = std::max(failed_attempts, 1u) - 1;
    double microseconds =
        capped(static_cast<double>(base.count()) * std::pow(factor, steps), limit);
    if (jitter > 0.0)
        microseconds =
            capped(microseconds * (1.0 - jitter + 2.0 * jitter * unit_interval(random)), limit);
    // At the limit the integer is at hand; a double above 2^53 may not convert back.
    if (!(microseconds < limit)) return std::max(cap, Duration{1});
    return std::max(Duration{std::llround(microseconds)}, Duration{1});
}

void validate(const RetryPolicy& policy) {
    if (policy.base <= Duration::zero())
        refuse(fmt::format("base is {} us, must be above 0", policy.base.count()));
    if (!(policy.factor >= 1.0 && std::isfinite(policy.factor)))
        refuse(fmt::format("factor is {}, must be at least 1 and finite", policy.factor));
    if (policy.cap < policy.base)
        refuse(fmt::format("cap is {} us, must be at least base ({} us)", policy.cap.count(),
                           policy.base.count()));
    if (!(policy.jitter >= 0.0 && policy.jitter < 1.0))
        refuse(fmt::format("jitter is {}, must be at least 0 and below 1", policy.jitter));
    if (policy.max_attempts < 1)
        refuse(fmt::format("max_attempts is {}, must be at least 1", policy.max_attempts));
}

}  // namespace postroom
