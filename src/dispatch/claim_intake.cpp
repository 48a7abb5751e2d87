#include "dispatch/claim_intake.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace postroom {

namespace {

constexpr Duration handler_still_runs = std::chrono::seconds{1};

}  // namespace

Instant ClaimIntake::step(Instant now, std::stop_token stop) {
    ClaimPacer::Step step;
    {
        const StateView state(shared_);
        step = state->pacer.next(now, state->claim_room());
    }
    if (step.claim_count == 0) return step.wait_until;
    std::vector<Message> claimed;
    try {
        claimed = setup_.store.claim(setup_.options.queue,
                                     {.owner = setup_.owner,
                                      .lease = setup_.options.lease,
                                      .batch = step.claim_count,
                                      .bytes = setup_.options.claim_bytes},
                                     std::move(stop));
    } catch (const std::exception& error) {
        last_claimed_ = 0;
        notifier_.store_failed("claim", error.what());
        Effects effects(notifier_);
        const StateLock state(shared_, effects);
        const Instant failed_at = setup_.clock.now();
        state->pacer.failed(failed_at);
        return state->pacer.next(failed_at, 1).wait_until;
    }
    last_claimed_ = claimed.size();
    return take_in(std::move(claimed), step.claim_count, now);
}

Instant ClaimIntake::take_in(std::vector<Message> claimed, std::uint32_t asked, Instant now) {
    const std::size_t count = claimed.size();
    const Instant answered = setup_.clock.now();
    Effects effects(notifier_);
    effects.claimed = Effects::Claimed{.count = count, .took = answered - now};
    const StateLock state(shared_, effects);
    if (!claimed.empty())
        state->offset = claimed.front().lease->locked_until - setup_.options.lease - answered;
    effects.cold_enqueued = admit(*state, effects, claimed, now);
    state->pacer.claimed(now, asked, count, effects.cold_enqueued);
    state->expect_turns(now);
    if (state->isolation.draining()) state->pacer.nudged();  // as soon as there is room
    const ClaimPacer::Step next = state->pacer.next(now, state->claim_room());
    return next.claim_count > 0 ? now : next.wait_until;
}

std::size_t ClaimIntake::admit(DispatchState& state, Effects& effects,
                               std::vector<Message>& claimed, Instant now) const {
    std::size_t useful = 0;
    const auto isolated = [&](const Message& message) {
        return state.isolation.care(message) == Care::isolated;
    };
    if (std::any_of(claimed.begin(), claimed.end(), isolated))
        std::stable_partition(claimed.begin(), claimed.end(), isolated);
    state.isolation.claimed(state.quiet());
    for (Message& message : claimed) {
        SendRate* const rate = setup_.rate(message.topic);
        if (!state.in_flight.add(*message.lease, now)) {
            Settlement back = released(message, handler_still_runs,
                                       "a handler that lost this message has not returned yet");
            state.settle_unstarted(std::move(message), std::move(back), now);
        } else if (std::optional<Refusal> refused =
                       refusals_.of(state, message, setup_.routes.find(message), now)) {
            Refusals::settle(state, effects, std::move(message), std::move(*refused), now);
        } else if (rate != nullptr && !rate->has(now)) {
            Refusal waits = Refusals::waits_for_turn(state, message, *rate, now);
            Refusals::settle(state, effects, std::move(message), std::move(waits), now);
        } else if (const std::optional<Duration> delay = state.isolation.admit(message, now)) {
            Settlement back = released(message, *delay, "a lost message is delivered by itself");
            state.settle_unstarted(std::move(message), std::move(back), now);
        } else if (isolated(message)) {
            state.isolation.hold(std::move(message));
            ++useful;
        } else {
            state.queues.push_cold(std::move(message));
            ++useful;
        }
    }
    if (state.isolation.active()) state.settler.hurry(now);
    return useful;
}

void ClaimIntake::nudge() {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    state->pacer.nudged();
    effects.poller = true;
}

void ClaimIntake::rung() {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    state->pacer.rung();
    effects.poller = true;
}

}  // namespace postroom
