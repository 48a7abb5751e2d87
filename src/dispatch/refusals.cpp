#include "dispatch/refusals.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "queue/handler_run.hpp"

namespace postroom {

std::optional<Refusal> Refusals::of(const DispatchState& state, const Message& message,
                                    const Routes::Route* route, Instant now) const {
    if (state.closing)
        return Refusal{.settlement = released(message, Duration::zero(), "the dispatcher stops")};
    if (!message.unreadable.empty())
        return dead(message, DeadReason::unreadable, message.unreadable);
    if (message.lost_count > setup_.options.crash_limit) {
        return dead(message, DeadReason::crash_limit,
                    "the worker was lost each time it handled this message");
    }
    if (state.expired(message, now))
        return dead(message, DeadReason::expired, std::string(expired_error));
    if (state.paused.holds(message.topic)) {
        return Refusal{.settlement =
                           released(message, setup_.options.hold_delay, "the topic is paused")};
    }
    if (route == nullptr) return unroutable(message);
    if (!state.circuits.may_start(setup_.destination(message.topic), now))
        return destination_rests(state, message, now);
    return std::nullopt;
}

Refusal Refusals::destination_rests(const DispatchState& state, const Message& message,
                                    Instant now) const {
    const Duration rest = state.circuits.rest(setup_.destination(message.topic), now);
    return {.settlement = released(message, rest, "its destination is down")};
}

Refusal Refusals::waits_for_turn(DispatchState& state, const Message& message, SendRate& rate,
                                 Instant now) {
    const Duration rest = rate.rest(now);
    Instant& last_turn = state.slowed[&rate];
    last_turn = std::max(last_turn, now + rest);
    return {.settlement =
                released(message, rest,
                         fmt::format("it waits for its turn: its rate is {} messages a second",
                                     rate.per_second()))};
}

Refusal Refusals::dead(const Message& message, DeadReason reason, std::string why) const {
    return {.settlement = {.lease = message.lease.value(),
                           .outcome = Outcome::fail,
                           .error = std::move(why),
                           .reason = reason,
                           .frees_key = setup_.frees_key(message.topic)}};
}

Refusal Refusals::unroutable(const Message& message) const {
    std::string why = unroutable_error(message);
    Refusal out;
    switch (setup_.options.unroutable) {
        case Unroutable::dead:
            out = dead(message, DeadReason::failed, std::move(why));
            break;
        case Unroutable::hold:
            out.settlement = released(message, setup_.options.hold_delay, std::move(why));
            break;
        case Unroutable::retry: {
            const RetryPolicy& policy = setup_.retry_policy(message.topic);
            out.settlement = {
                .lease = message.lease.value(),
                .outcome = Outcome::abandon,
                .error = std::move(why),
                .delay = std::min(policy.delay(message.lease->retry_count + 1, setup_.random),
                                  setup_.store.limits().delay_max),
                .max_attempts = policy.max_attempts,
                .frees_key = setup_.frees_key(message.topic)};
            break;
        }
    }
    out.unroutable = true;
    return out;
}

void Refusals::settle(DispatchState& state, Effects& effects, Message message, Refusal refusal,
                      Instant now) {
    if (refusal.unroutable) effects.unroutable.push_back(message);
    state.settle_unstarted(std::move(message), std::move(refusal.settlement), now);
}

}  // namespace postroom
