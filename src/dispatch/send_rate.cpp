#include "postroom/send_rate.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <fmt/format.h>

#include "base/mutex.hpp"

namespace postroom {

namespace {

// Turns that are far away are forgotten with the process, and an operator may raise the rate: so
// nothing rests for longer.
constexpr Duration rest_max = std::chrono::minutes{10};
constexpr double burst_seconds = 0.25;

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
          burst(std::max(1.0, per_second * burst_seconds)),
          interval(after(1 / per_second)),
          left(burst) {}

    double left_at(Instant now) const POSTROOM_REQUIRES(mutex) {
        return std::min(burst, left + std::max(0.0, seconds(now - at)) * per_second);
    }
    // Turns end up a rounding error short of a whole one.
    static bool enough(double tokens) { return tokens >= 1 - 1e-6; }

    const double per_second;
    const double burst;
    const Duration interval;

    base::Mutex mutex;
    double left POSTROOM_GUARDED_BY(mutex);  // as of `at`
    Instant at POSTROOM_GUARDED_BY(mutex){};
    Instant turns_until POSTROOM_GUARDED_BY(mutex){};  // those of all that rest
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
    bucket_->at = std::max(bucket_->at, now);
    return true;
}

Duration SendRate::rest(Instant now) {
    const base::MutexLock lock(bucket_->mutex);
    const double missing = std::max(0.0, 1 - bucket_->left_at(now));
    const Instant first = now + after(missing / bucket_->per_second);
    const Instant turn = std::min(std::max(first, bucket_->turns_until), now + rest_max);
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
