#include "dispatch/lease_keeper.hpp"

#include <exception>
#include <optional>
#include <utility>

namespace postroom {

namespace {

constexpr std::size_t renewals_max = 500;

}  // namespace

std::vector<Lease> LeaseKeeper::due(Instant now) {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    state->keeper_comes = Instant::min();  // it is here, and will say when it comes again
    effects.stops = state->in_flight.give_up(now);
    end_long_isolation(*state, now);
    return state->in_flight.due(now, renewals_max);
}

Instant LeaseKeeper::step(Instant now) {
    const std::vector<Lease> leases = due(now);
    std::vector<bool> stand;
    if (!leases.empty()) {
        try {
            stand = setup_.store.extend(setup_.options.queue, leases, setup_.options.lease);
        } catch (const std::exception& error) {
            notifier_.store_failed("extend", error.what());
        }
    }
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    if (stand.empty()) {
        failed(*state, effects, leases, now);
    } else {
        answered(*state, effects, leases, stand, now);
    }
    state->keeper_comes = state->keeper_due();
    return state->keeper_comes;
}

void LeaseKeeper::answered(DispatchState& state, Effects& effects, const std::vector<Lease>& leases,
                           const std::vector<bool>& stand, Instant asked_at) const {
    for (std::size_t i = 0; i < leases.size(); ++i) {
        if (stand[i]) {
            state.in_flight.renewed(leases[i], asked_at);
        } else if (InFlight::Lost lost = state.in_flight.lost(leases[i]); lost.news) {
            effects.lost.push_back(leases[i]);
            effects.stops.push_back(std::move(lost.stop));
        }
    }
}

// Past the end of a lease others may have its message.
void LeaseKeeper::failed(DispatchState& state, Effects& effects, const std::vector<Lease>& leases,
                         Instant now) const {
    for (const Lease& lease : leases) {
        if (!state.in_flight.holds(lease, now))
            effects.stops.push_back(state.in_flight.stop_of(lease));
        state.in_flight.postpone(lease, now + setup_.options.lease / 20);
    }
}

// An isolated message may hold up everything else for one lease and no longer, be it before its
// start or while its handler runs.
void LeaseKeeper::end_long_isolation(DispatchState& state, Instant now) const {
    if (!state.isolation.overdue(now)) return;
    if (std::optional<Message> message = state.isolation.give_up(now)) {
        Settlement back = released(*message, setup_.options.lease, "other handlers did not return");
        state.settle_unstarted(std::move(*message), std::move(back), now);
    }
}

}  // namespace postroom
