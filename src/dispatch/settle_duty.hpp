// SettleDuty: stores outcomes, many in one call.
//
// Thread safety: by one thread at a time.
#pragma once

#include <vector>

#include "dispatch/dispatch_state.hpp"

namespace postroom {

class SettleDuty {
public:
    SettleDuty(const DispatchSetup& setup, SharedState& shared, const Notifier& notifier)
        : setup_(setup), shared_(shared), notifier_(notifier) {}

    // One batch, if one is due; with `all` everything is. When to come again.
    Instant step(Instant now, bool all);

private:
    enum class Answer { yes, not_now, no };

    Answer ask_store(const std::vector<Outgoing>& batch, std::vector<Settled>& results) const;
    // Nobody waits any longer for what the batch sends back.
    static void told(DispatchState& state, std::vector<Outgoing>& batch, Instant now);
    void end(DispatchState& state, Effects& effects, std::vector<Outgoing> batch,
             const std::vector<Settled>& results) const;

    const DispatchSetup& setup_;
    SharedState& shared_;
    const Notifier& notifier_;
};

}  // namespace postroom
