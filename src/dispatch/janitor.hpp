// Janitor: takes back leases that have run out, removes what is old, and observes figures.
//
// Thread safety: by one thread at a time.
#pragma once

#include <stop_token>

#include "dispatch/dispatch_state.hpp"

namespace postroom {

class ClaimIntake;

class Janitor {
public:
    Janitor(const DispatchSetup& setup, const SharedState& shared, const Notifier& notifier,
            ClaimIntake& intake)
        : setup_(setup), shared_(shared), notifier_(notifier), intake_(intake) {}

    // When to come again.
    Instant step(Instant now, const std::stop_token& stop);

private:
    void reap(Instant now, const std::stop_token& stop);
    bool purges() const;
    void purge(Instant now);
    // One batch of done messages; true when there may be more.
    bool purge_done(Queue queue, Duration retention) const;
    bool discard_dead() const;
    void observe_purged(Queue queue, std::uint64_t count) const;
    void observe_figures() const;

    const DispatchSetup& setup_;
    const SharedState& shared_;
    const Notifier& notifier_;
    ClaimIntake& intake_;
    Instant next_reap_{};
    Instant next_purge_{};
};

}  // namespace postroom
