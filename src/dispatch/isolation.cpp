#include "dispatch/isolation.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace postroom {

namespace {

// A longer look ahead would leave slots empty when everything else is done.
constexpr int sent_back_in_a_lease = 10;

// Where handlers always run longer than a lease, no more than this share of the time is lost.
constexpr int leases_between_drains_max = 16;

}  // namespace

Care Isolation::care(const Message& message) const {
    if (message.lost_count == 0) return Care::usual;
    return message.lost_count >= std::min(2U, options_.crash_limit) ? Care::isolated
                                                                    : Care::suspect;
}

void Isolation::claimed(bool quiet) {
    quiet_ = quiet;
    if (!quiet || phase_ != Phase::draining) return;
    phase_ = Phase::none;
    pause_ = options_.lease;
}

std::optional<Duration> Isolation::admit(const Message& message, Instant now) {
    if (phase_ == Phase::held) return Duration::zero();
    switch (care(message)) {
        case Care::usual:
            return std::nullopt;
        case Care::suspect:
            if (slots_used_ == options_.slots) return sent_back_for(now);
            if (slots_used_++ == 0) {
                busy_since_ = now;
                freed_ = 0;
            }
            return std::nullopt;
        case Care::isolated:
            break;
    }
    if (now < not_before_) return not_before_ - now;
    if (phase_ == Phase::draining) return Duration::zero();
    phase_ = quiet_ ? Phase::held : Phase::draining;
    since_ = now;
    return quiet_ ? std::nullopt : std::optional(Duration::zero());
}

// Slots become free as often as they did lately, and each is for one of those that were sent back.
// As long as none has, the best guess is that all of them will now.
Duration Isolation::sent_back_for(Instant now) {
    const Duration gap = (now - busy_since_) / (freed_ + static_cast<std::int64_t>(options_.slots));
    const Instant latest = now + options_.lease / sent_back_in_a_lease;
    next_free_ = std::min(std::max(next_free_, now) + gap, latest);
    return next_free_ - now;
}

bool Isolation::free_slot(Instant now) {
    POSTROOM_ASSERT(slots_used_ > 0);
    --slots_used_;
    ++freed_;
    return next_free_ + options_.lease > now;
}

Message Isolation::start(Instant now) {
    phase_ = Phase::running;
    since_ = now;
    pause_ = options_.lease;
    running_ = held_->id;
    return *std::exchange(held_, std::nullopt);
}

std::optional<Message> Isolation::give_back() {
    phase_ = Phase::none;
    return std::exchange(held_, std::nullopt);
}

bool Isolation::finished(const WorkItemId& id, Instant now) {
    if (phase_ != Phase::running || running_ != id) return false;
    phase_ = Phase::none;
    not_before_ = now + (now - since_);
    return true;
}

Instant Isolation::ends_by() const { return active() ? since_ + options_.lease : Instant::max(); }

std::optional<Message> Isolation::give_up(Instant now) {
    if (phase_ != Phase::running) {
        not_before_ = now + pause_;
        pause_ = std::min(2 * pause_, leases_between_drains_max * options_.lease);
    }
    return give_back();
}

}  // namespace postroom
