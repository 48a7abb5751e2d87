#include "dispatch/settle_duty.hpp"

#include <exception>
#include <utility>

#include "postroom/error.hpp"

namespace postroom {

namespace {

// Whether the same call may succeed later.
bool is_passing(const std::exception& thrown) {
    const auto* const error = dynamic_cast<const Error*>(&thrown);
    return error != nullptr &&
           (error->kind() == ErrorKind::unavailable || error->kind() == ErrorKind::conflict ||
            error->kind() == ErrorKind::outcome_unknown);
}

}  // namespace

SettleDuty::Answer SettleDuty::ask_store(const std::vector<Outgoing>& batch,
                                         std::vector<Settled>& results) const {
    std::vector<Settlement> settlements;
    settlements.reserve(batch.size());
    for (const Outgoing& outgoing : batch) settlements.push_back(outgoing.settlement);
    try {
        results = setup_.store.settle(nullptr, setup_.options.queue, settlements);
        return Answer::yes;
    } catch (const std::exception& error) {
        notifier_.store_failed("settle", error.what());
        return is_passing(error) ? Answer::not_now : Answer::no;
    }
}

Instant SettleDuty::step(Instant now, bool all) {
    std::vector<Outgoing> batch;
    {
        Effects effects(notifier_);
        const StateLock state(shared_, effects);
        batch = state->settler.take(now, all);
        if (batch.empty()) return state->settler.next_due();
        state->settling = batch.size();
    }
    std::vector<Settled> results;
    const Answer answer = ask_store(batch, results);
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    state->settling = 0;
    told(*state, batch, now);
    if (answer == Answer::yes) {
        state->settler.succeeded();
        end(*state, effects, std::move(batch), results);
    } else if (answer == Answer::not_now) {
        state->settler.failed(std::move(batch), setup_.clock.now());
    } else if (batch.size() > 1) {
        state->settler.refused(std::move(batch));
    } else {
        // Nothing more can be done with it here: its lease runs out, and it comes again.
        end(*state, effects, std::move(batch), {Settled::lost});
    }
    return state->settler.next_due();
}

// Whatever the answer was: a store that is away, or refuses, must not stop everything else.
void SettleDuty::told(DispatchState& state, std::vector<Outgoing>& batch, Instant now) {
    for (Outgoing& outgoing : batch)
        if (std::exchange(outgoing.others_wait, false)) --state.untold;
    if (state.untold > 0) state.settler.hurry(now);
}

void SettleDuty::end(DispatchState& state, Effects& effects, std::vector<Outgoing> batch,
                     const std::vector<Settled>& results) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
        state.in_flight.remove(batch[i].settlement.lease);
        state.reports.count(batch[i].settlement, results[i]);
    }
    effects.ended.reserve(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
        effects.ended.emplace_back(std::move(batch[i]), results[i]);
}

}  // namespace postroom
