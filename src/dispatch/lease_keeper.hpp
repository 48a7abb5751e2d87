// LeaseKeeper: renews the leases of what is held, and gives up what has been held for too long.
//
// Thread safety: by one thread at a time.
#pragma once

#include <vector>

#include "dispatch/dispatch_state.hpp"

namespace postroom {

class LeaseKeeper {
public:
    LeaseKeeper(const DispatchSetup& setup, SharedState& shared, const Notifier& notifier)
        : setup_(setup), shared_(shared), notifier_(notifier) {}

    // When to come again.
    Instant step(Instant now);

private:
    // Ends what takes too long, and returns what has to be renewed.
    std::vector<Lease> due(Instant now);
    void end_long_isolation(DispatchState& state, Instant now) const;
    void answered(DispatchState& state, Effects& effects, const std::vector<Lease>& leases,
                  const std::vector<bool>& stand, Instant asked_at) const;
    void failed(DispatchState& state, Effects& effects, const std::vector<Lease>& leases,
                Instant now) const;

    const DispatchSetup& setup_;
    SharedState& shared_;
    const Notifier& notifier_;
};

}  // namespace postroom
