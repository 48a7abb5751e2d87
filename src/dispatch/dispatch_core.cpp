#include "dispatch/dispatch_core.hpp"

#include <algorithm>
#include <utility>

namespace postroom {

void DispatchCore::disconnect() {
    connect({});
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    state->closed = true;
}

Instant DispatchCore::claim_step(Instant now, std::stop_token stop) {
    const Instant verify_again = hot_.verify(now);
    return std::min(verify_again, intake_.step(now, std::move(stop)));
}

// An asynchronous delivery may outlive the core, or the close; its lease has run out by then.
void DispatchCore::run(Work work) {
    if (!work.route->async) {
        std::vector<HandlerRun> runs = calls_.run(work);
        return finish(std::move(work), std::move(runs), setup_.clock.now());
    }
    calls_.run_async(std::move(work), [weak = weak_from_this()](
                                          const Work& ended, std::size_t entered, Verdict verdict) {
        const std::shared_ptr<DispatchCore> core = weak.lock();
        if (core == nullptr || StateView(core->shared_)->closed) return;
        core->calls_.after(ended.messages.front(), verdict.error, entered);
        core->finish(ended, {{.verdict = std::move(verdict)}}, core->setup_.clock.now());
    });
}

bool DispatchCore::drained() const {
    const StateView state(shared_);
    return state->queues.hot_size() == 0 && state->queues.cold_size() == 0 &&
           !state->isolation.holds_one() && state->running == 0;
}

void DispatchCore::begin_close() {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    if (state->closing) return;
    state->closing = true;
    effects.settler = true;
    const Instant now = setup_.clock.now();
    std::vector<Message> waiting = state->queues.drain();
    if (std::optional<Message> held = state->isolation.give_back())
        waiting.push_back(std::move(*held));
    for (Message& message : waiting) {
        if (state->in_flight.holds(*message.lease, now))
            state->release_at_close(std::move(message), now);
    }
    state->release_unverified(now);
}

void DispatchCore::request_stop_of_handlers() {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    effects.stops = state->in_flight.running();
}

bool DispatchCore::idle() const {
    const StateView state(shared_);
    return state->running == 0 && state->notifying == 0 && state->settling == 0 &&
           state->settler.empty();
}

bool DispatchCore::all_settled() const {
    const StateView state(shared_);
    return state->settling == 0 && state->settler.empty();
}

void DispatchCore::pause(const std::string& topic) {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    state->paused.insert(topic);
}

void DispatchCore::resume(const std::string& topic) {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    state->paused.erase(topic);
}

bool DispatchCore::probe(const std::string& destination, Instant now) {
    Effects effects(notifier_);
    const StateLock state(shared_, effects);
    return state->circuits.probe_now(destination, now);
}

DispatcherStatus DispatchCore::status() const {
    const StateView state(shared_);
    return {.hot_depth = state->queues.hot_size(),
            .cold_depth = state->queues.cold_size(),
            .running = state->running,
            .in_flight = state->in_flight.size(),
            .paused = state->paused.list(),
            .open_circuits = state->circuits.open()};
}

}  // namespace postroom
