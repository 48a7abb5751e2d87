// ClaimIntake: fetches messages from the store, and puts them where they belong.
//
// Thread safety: step() by one thread at a time; the others may be shared.
#pragma once

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <vector>

#include "dispatch/dispatch_state.hpp"
#include "dispatch/refusals.hpp"

namespace postroom {

class ClaimIntake {
public:
    ClaimIntake(const DispatchSetup& setup, SharedState& shared, const Notifier& notifier)
        : setup_(setup), refusals_(setup), shared_(shared), notifier_(notifier) {}

    // Claims if it is time to. When to come again.
    Instant step(Instant now, std::stop_token stop);
    // How many messages the last claim brought; one that failed brought none.
    std::size_t last_claimed() const { return last_claimed_.load(std::memory_order_relaxed); }

    // Something was committed that may be claimable: by this process, or the doorbell says so.
    void nudge();
    void rung();

private:
    Instant take_in(std::vector<Message> claimed, std::uint32_t asked, Instant now);
    // Returns how many of them can be delivered.
    std::size_t admit(DispatchState& state, Effects& effects, std::vector<Message>& claimed,
                      Instant now) const;

    const DispatchSetup& setup_;
    const Refusals refusals_;
    SharedState& shared_;
    const Notifier& notifier_;
    std::atomic<std::size_t> last_claimed_{0};
};

}  // namespace postroom
