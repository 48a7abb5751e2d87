#include "postroom/send_rate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "base/mutex.hpp"

namespace postroom {

namespace {

// Turns that are far away are forgotten with the process, and an operator may raise the rate: so
// nothing rests for longer.
constexpr Duration rest_max = std::chrono::hours{1};
constexpr double burst_seconds = 0.25;
// A message that comes a little late for its turn must not make the next one late too.
constexpr double saved_min = 1.25;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Rounded up: a message that comes back at this time finds its turn.
Duration after(double seconds) {
    return std::chrono::ceil<Duration>(std::chrono::duration<double>(seconds));
}

double checked(double per_second) {
    if (!(per_second >= SendRate::per_second_min && per_second <= SendRate::per_second_max)) {
        throw std::out_of_range(fmt::format("rate: must be a number from {} to {}",
                                            SendRate::per_second_min, SendRate::per_second_max));
    }
    return per_second;
}

}  // namespace

struct SendRate::Bucket {
    explicit Bucket(double given)
        : per_second(checked(given)),
          burst(std::max(saved_min, per_second * burst_seconds)),
          interval(after(1 / per_second)),
          left(std::max(1.0, per_second * burst_seconds)) {}

    double left_at(Instant now) const POSTROOM_REQUIRES(mutex) {
        if (!at) return left;
        return std::min(burst, left + std::max(0.0, seconds(now - *at)) * per_second);
    }
    // Turns end up a rounding error short of a whole one.
    static bool enough(double tokens) { return tokens >= 1 - 1e-6; }

    // Those behind the last turn come back at different times, in the second half of the longest
    // rest: all at once they would keep others waiting. Steps of the golden ratio spread evenly.
    Duration rest_without_turn() POSTROOM_REQUIRES(mutex) {
        spread = std::fmod(spread + 0.618033988749895, 1.0);
        return after(seconds(rest_max) * (0.5 + spread / 2));
    }

    const double per_second;
    const double burst;
    const Duration interval;

    base::Mutex mutex;
    double left POSTROOM_GUARDED_BY(mutex);                // as of `at`
    std::optional<Instant> at POSTROOM_GUARDED_BY(mutex);  // none: never used
    Instant turns_until POSTROOM_GUARDED_BY(mutex){};      // those of all that rest
    double spread POSTROOM_GUARDED_BY(mutex) = 0;
};

SendRate::SendRate(double per_second) : bucket_(std::make_unique<Bucket>(per_second)) {}
SendRate::~SendRate() = default;

double SendRate::per_second() const { return bucket_->per_second; }

bool SendRate::has(Instant now) const {
    const base::MutexLock lock(bucket_->mutex);
    return Bucket::enough(bucket_->left_at(now));
}

bool SendRate::take(Instant now) {
    const base::MutexLock lock(bucket_->mutex);
    const double left = bucket_->left_at(now);
    if (!Bucket::enough(left)) return false;
    bucket_->left = std::max(0.0, left - 1);
    bucket_->at = std::max(bucket_->at.value_or(now), now);
    return true;
}

Duration SendRate::rest(Instant now) {
    const base::MutexLock lock(bucket_->mutex);
    const double missing = std::max(0.0, 1 - bucket_->left_at(now));
    const Instant first = now + after(missing / bucket_->per_second);
    const Instant turn = std::max(first, bucket_->turns_until);
    if (turn > now + rest_max) return bucket_->rest_without_turn();
    bucket_->turns_until = turn + bucket_->interval;
    return std::max(turn - now, Duration{1});
}

Instant SendRate::next_turn(Instant now) const {
    const base::MutexLock lock(bucket_->mutex);
    // The last turn is one interval before the end of them all.
    const Duration ahead = bucket_->turns_until - bucket_->interval - now;
    if (ahead <= Duration::zero()) return Instant::max();
    const Duration since_turn = ahead % bucket_->interval;
    return now + (since_turn > Duration::zero() ? since_turn : bucket_->interval);
}

}  // namespace postroom
