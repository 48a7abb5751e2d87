#include "dispatch/janitor.hpp"

#include <algorithm>
#include <exception>

#include "dispatch/claim_intake.hpp"
#include "postroom/operator.hpp"

namespace postroom {

namespace {

constexpr std::uint32_t reap_batch = 1000;
constexpr std::uint32_t purge_batch = 1000;
constexpr Duration purge_pause = std::chrono::milliseconds{50};
constexpr Duration outbox_retention = std::chrono::hours{24 * 7};
constexpr Duration inbox_retention = std::chrono::hours{24 * 30};

Duration retention_of(const DispatcherOptions& options) {
    return options.retention.value_or(options.queue == Queue::outbox ? outbox_retention
                                                                     : inbox_retention);
}

}  // namespace

Instant Janitor::step(Instant now, const std::stop_token& stop) {
    try {
        if (now >= next_reap_) reap(now, stop);
        if (purges() && now >= next_purge_ && !stop.stop_requested()) purge(now);
    } catch (const std::exception& error) {
        notifier_.store_failed("upkeep", error.what());
    }
    return purges() ? std::min(next_reap_, next_purge_) : next_reap_;
}

void Janitor::reap(Instant now, const std::stop_token& stop) {
    next_reap_ = now + setup_.options.reap_interval;
    const std::uint64_t reaped = setup_.store.reap(setup_.options.queue, reap_batch, stop);
    if (reaped > 0) {
        notifier_.observe({.kind = EventKind::reaped, .count = reaped});
        intake_.nudge();
    }
    if (reaped == reap_batch) next_reap_ = now;
    observe_figures();
}

bool Janitor::purges() const {
    const DispatcherOptions& options = setup_.options;
    return retention_of(options) > Duration::zero() ||
           options.other_queue_retention > Duration::zero() ||
           options.dead_retention > Duration::zero();
}

void Janitor::purge(Instant now) {
    next_purge_ = now + setup_.options.purge_interval;
    const Queue queue = setup_.options.queue;
    const Queue other = queue == Queue::outbox ? Queue::inbox : Queue::outbox;
    bool more = purge_done(queue, retention_of(setup_.options));
    more = purge_done(other, setup_.options.other_queue_retention) || more;
    more = discard_dead() || more;
    if (more) next_purge_ = now + purge_pause;
}

bool Janitor::purge_done(Queue queue, Duration retention) const {
    if (retention <= Duration::zero()) return false;
    const PurgeResult result =
        setup_.store.purge(queue, {.older_than = retention, .batch = purge_batch});
    observe_purged(queue, result.purged);
    return result.more;
}

bool Janitor::discard_dead() const {
    StoreControls* const controls = controls_of(setup_.store);
    const Duration retention = setup_.options.dead_retention;
    if (controls == nullptr || retention <= Duration::zero()) return false;
    std::vector<WorkItemId> ids;
    for (const Message& message :
         setup_.store.find(setup_.options.queue, {.state = State::dead,
                                                 .created_before = setup_.store.now() - retention,
                                                 .limit = purge_batch,
                                                 .payloads = false}))
        ids.push_back(message.id);
    if (ids.empty()) return false;
    const std::uint64_t gone = controls->discard(setup_.options.queue, ids);
    observe_purged(setup_.options.queue, gone);
    return ids.size() == purge_batch && gone > 0;
}

void Janitor::observe_purged(Queue queue, std::uint64_t count) const {
    if (count == 0 || !notifier_.wants(EventKind::purged)) return;
    setup_.observer.observe(
        {.kind = EventKind::purged, .queue = queue, .store = setup_.store.id(), .count = count});
}

void Janitor::observe_figures() const {
    if (!notifier_.wants(EventKind::queue_depths) && !notifier_.wants(EventKind::oldest_lag))
        return;
    const auto depths = [&] {
        const StateView state(shared_);
        return state->depths();
    };
    // Told while the state is not locked. What ended meanwhile was perhaps told before, and nobody
    // may look again for long.
    const Event told = depths();
    notifier_.observe(told);
    if (told.in_flight > 0 && depths().in_flight == 0) notifier_.observe(depths());
    // The first in line, not counts(): those look at every message that waits.
    const std::vector<Message> first = setup_.store.find(
        setup_.options.queue,
        {.state = {State::ready, State::in_progress}, .limit = 1, .payloads = false});
    const Duration lag =
        first.empty() ? Duration::zero()
                      : std::max(Duration::zero(), setup_.store.now() - first.front().created_at);
    notifier_.observe({.kind = EventKind::oldest_lag, .duration = lag});
}

}  // namespace postroom
