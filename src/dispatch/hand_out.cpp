#include "dispatch/hand_out.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/utf8.hpp"

namespace postroom {

// Around an isolated message, what writers have handed over meanwhile stays where it is.
std::optional<QueuedMessage> HandOut::next_message(DispatchState& state, Instant now) {
    if (state.closing || state.untold > 0 || state.isolation.running()) return std::nullopt;
    if (state.isolation.holds_one()) {
        if (!state.quiet()) return std::nullopt;
        return QueuedMessage{.message = state.isolation.start(now), .path = Path::cold};
    }
    if (!state.async_full())
        if (std::optional<QueuedMessage> parked = state.queues.pop_parked()) return parked;
    return state.queues.pop(/*cold_only=*/state.isolation.draining());
}

std::optional<Work> HandOut::take(Instant now) {
    std::optional<Work> work;
    {
        Effects effects(notifier_);
        const StateLock state(shared_, effects);
        while (!work) {
            std::optional<QueuedMessage> queued = next_message(*state, now);
            if (!queued) break;
            const Routes::Route* const route = setup_.routes.find(queued->message);
            if (route != nullptr && route->async && state->async_full()) {
                state->queues.park(std::move(*queued));
                continue;
            }
            work = start(*state, effects, *queued, route, now);
        }
    }
    if (work)
        for (const Message& message : work->messages)
            notifier_.observe(EventKind::started, message);
    return work;
}

std::optional<Work> HandOut::start(DispatchState& state, Effects& effects, QueuedMessage& queued,
                                   const Routes::Route* route, Instant now) const {
    Message& message = queued.message;
    const Care care = state.isolation.care(message);
    std::optional<Refusal> refused;
    const std::string& to = setup_.destination(message.topic);
    if (!state.in_flight.holds(*message.lease, now)) {
        // Past its deadline another worker may have it. If not, it is free again without being
        // counted as lost.
        state.in_flight.remove(*message.lease);
        refused = Refusal{.settlement =
                              released(message, Duration::zero(), "it waited here past its lease")};
    } else {
        refused = refusals_.of(state, message, route, now);
        SendRate* const rate = setup_.rate(message.topic);
        if (!refused && rate != nullptr && !rate->take(now)) {
            refused = Refusals::waits_for_turn(state, message, *rate, now);
            state.expect_turns(now);
            effects.poller = true;
        }
        if (!refused && !state.circuits.start(to, now))
            refused = refusals_.destination_rests(state, message, now);
    }
    if (refused) {
        state.leave(care, message.id, now);
        if (care != Care::usual) effects.poller = true;
        if (!state.circuits.may_start(to, now)) state.circuits.note_waiting(to, message.topic);
        Refusals::settle(state, effects, std::move(message), std::move(*refused), now);
        return std::nullopt;
    }
    Work work{.route = route, .destination = to, .started = now, .care = care};
    ++state.running;
    if (route->async) ++state.running_async;
    state.in_flight.start(*message.lease, work.stop, now);
    work.messages.push_back(std::move(message));
    add_to_batch(state, work, queued.path, now);
    return work;
}

// One call counts as one to the circuit, however many messages it is for.
void HandOut::add_to_batch(DispatchState& state, Work& work, Path path, Instant now) const {
    if (!work.route->batch || work.care != Care::usual) return;
    while (work.messages.size() < work.route->batch_max) {
        const Message* const candidate = state.queues.front(path);
        if (candidate == nullptr || state.isolation.care(*candidate) != Care::usual ||
            setup_.routes.find(*candidate) != work.route ||
            refusals_.of(state, *candidate, work.route, now) ||
            !state.in_flight.holds(*candidate->lease, now))
            return;
        SendRate* const rate = setup_.rate(candidate->topic);
        if (rate != nullptr && !rate->take(now)) return;
        Message next = std::move(state.queues.pop_from(path)->message);
        state.in_flight.start(*next.lease, work.stop, now);
        work.messages.push_back(std::move(next));
    }
}

Settlement HandOut::settlement(const DispatchState& state, const Message& message,
                               const Verdict& verdict, Instant now) const {
    const Limits& limits = setup_.store.limits();
    Settlement out{.lease = message.lease.value(),
                   .outcome = verdict.outcome,
                   .error = std::string(base::truncate_utf8(base::sanitize_utf8(verdict.error),
                                                            limits.max_error_chars)),
                   .destination = setup_.destination(message.topic),
                   .frees_key = setup_.frees_key(message.topic)};
    if (verdict.outcome == Outcome::abandon) {
        const RetryPolicy& policy = setup_.retry_policy(message.topic);
        const Duration delay =
            verdict.delay.value_or(policy.delay(message.lease->retry_count + 1, setup_.random));
        out.delay = std::clamp(delay, Duration{1}, limits.delay_max);
        out.max_attempts = policy.max_attempts;
    } else if (verdict.outcome == Outcome::release) {
        const Duration delay = verdict.destination_down
                                   ? state.circuits.rest(setup_.destination(message.topic), now)
                                   : verdict.delay.value_or(blameless_pause);
        out.delay = std::clamp(delay, Duration::zero(), limits.delay_max);
    }
    return out;
}

void HandOut::judge_destination(DispatchState& state, Effects& effects, const Work& work,
                                const Verdict& verdict, Instant now) {
    if (verdict.destination_down) {
        const bool opened = state.circuits.failed(work.destination, now, verdict.error);
        state.circuits.note_waiting(work.destination, work.messages.front().topic);
        if (!opened) return;
        state.reports.circuit_changed = true;
        effects.circuit =
            Effects::CircuitChange{.opened = true,
                                   .destination = work.destination,
                                   .error = verdict.error,
                                   .delay = state.circuits.rest(work.destination, now)};
    } else if (verdict.outcome != Outcome::ack) {
        state.circuits.neither(work.destination);
    } else {
        // The first answer is the news: until it has borne as many as there are workers may take
        // long where messages are rare.
        const bool was_down = !state.circuits.answers(work.destination);
        state.circuits.succeeded(work.destination);
        if (!was_down || !state.circuits.answers(work.destination)) return;
        state.reports.circuit_changed = true;
        effects.circuit = Effects::CircuitChange{.destination = work.destination};
    }
}

void HandOut::settle(DispatchState& state, Effects& effects, Message message, HandlerRun& run,
                     const Work& work, Instant now) const {
    const Lease lease = *message.lease;
    Settlement settled = settlement(state, message, run.verdict, now);
    const bool hurried = state.hurries(message, settled);
    Outgoing outgoing = state.outgoing(message, std::move(settled), work.started, now);
    const bool held = state.in_flight.finish(lease);
    if (run.settled) {
        state.in_flight.remove(lease);
        state.reports.count(outgoing.settlement, *run.settled);
        effects.ended.emplace_back(std::move(outgoing), *run.settled);
    } else if (held) {
        // Were others started before the store has its outcome, a crash of theirs would be its
        // loss.
        const bool isolated = work.care == Care::isolated;
        outgoing.others_wait = isolated;
        state.settler.add(std::move(outgoing), now, hurried);
        if (isolated) {
            ++state.untold;
            state.settler.hurry(now);
        }
    } else {
        effects.ended.emplace_back(std::move(outgoing), Settled::lost);
    }
}

void HandOut::finish(Work work, std::vector<HandlerRun> runs, Instant now) {
    POSTROOM_ASSERT(runs.size() == work.messages.size());
    bool notifies = false;
    {
        Effects effects(notifier_);
        const StateLock state(shared_, effects);
        if (state->closed) return;
        --state->running;
        if (work.route->async) --state->running_async;
        state->leave(work.care, work.messages.front().id, now);
        if (work.care != Care::usual) effects.poller = true;
        const auto down = std::find_if(runs.begin(), runs.end(), [](const HandlerRun& run) {
            return run.verdict.destination_down;
        });
        judge_destination(*state, effects, work,
                          (down == runs.end() ? runs.front() : *down).verdict, now);
        for (std::size_t i = 0; i < runs.size(); ++i)
            settle(*state, effects, std::move(work.messages[i]), runs[i], work, now);
        notifies = effects.circuit || !effects.ended.empty();
        if (notifies) ++state->notifying;
    }
    if (!notifies) return;
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    --state->notifying;
}

}  // namespace postroom
