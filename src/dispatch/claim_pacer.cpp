#include "dispatch/claim_pacer.hpp"

#include <algorithm>

namespace postroom {

ClaimPacer::Step ClaimPacer::next(Instant now, std::size_t slots_free) const {
    if (slots_free == 0) return {.claim_count = 0, .wait_until = Instant::max()};
    if (now < next_at_) return {.claim_count = 0, .wait_until = next_at_};
    const auto room = static_cast<std::uint32_t>(std::min<std::size_t>(slots_free, options_.batch));
    return {.claim_count = room, .wait_until = now};
}

void ClaimPacer::claimed(Instant now, std::uint32_t asked, std::size_t got, std::size_t useful) {
    failing_ = false;
    pause_ = options_.failure_pause;
    if (got >= asked || useful > 0) idle_ = options_.recheck;
    if (useful >= asked) {
        next_at_ = now;
        rests_until_ = {};
        return;
    }
    next_at_ = now + idle_;
    rests_until_ = now + options_.ring_rest;
    idle_ = std::min(idle_ * 2, options_.poll_interval_max);
}

void ClaimPacer::failed(Instant now) {
    failing_ = true;
    next_at_ = now + pause_;
    pause_ = std::min(pause_ * 2, options_.poll_interval_max);
}

// A database that is away is not asked more often because somebody rings.
void ClaimPacer::nudged() {
    if (failing_) return;
    next_at_ = {};
    idle_ = options_.recheck;
}

void ClaimPacer::expected(Instant now, Instant at) {
    if (failing_) return;
    const Instant wanted = std::max(at, now + options_.expected_gap);
    if (wanted >= next_at_) return;  // somebody looks before, and is told again
    next_at_ = wanted;
    idle_ = options_.recheck;  // if it is not there yet, it will be in a moment
}

void ClaimPacer::rung() {
    if (failing_) return;
    next_at_ = std::min(next_at_, rests_until_);
    idle_ = options_.recheck;
}

}  // namespace postroom
