// What goes on beside the deliveries: settling, renewing leases, cleaning up.
#include <algorithm>
#include <utility>

#include "postroom/error.hpp"
#include "queue/dispatch_core.hpp"

namespace postroom {

namespace {

constexpr std::size_t renewals_max = 500;
constexpr std::uint32_t reap_batch = 1000;
constexpr std::uint32_t purge_batch = 1000;
constexpr Duration purge_pause = std::chrono::milliseconds{50};
constexpr Duration outbox_retention = std::chrono::hours{24 * 7};
constexpr Duration inbox_retention = std::chrono::hours{24 * 30};

enum class Answer { yes, not_now, no };

// Whether the same call may succeed later.
bool is_passing(const std::exception& thrown) {
    const auto* const error = dynamic_cast<const Error*>(&thrown);
    return error != nullptr &&
           (error->kind() == ErrorKind::unavailable || error->kind() == ErrorKind::conflict ||
            error->kind() == ErrorKind::outcome_unknown);
}

}  // namespace

Instant DispatchCore::settle_step(Instant now, bool all) {
    std::vector<Outgoing> batch;
    {
        const base::MutexLock lock(mutex_);
        batch = settler_.take(now, all);
        if (batch.empty()) return settler_.next_due();
        settling_ = batch.size();
    }
    std::vector<Settlement> settlements;
    settlements.reserve(batch.size());
    for (const Outgoing& outgoing : batch) settlements.push_back(outgoing.settlement);
    std::vector<Settled> results;
    Answer answer = Answer::yes;
    try {
        results = store_.settle(nullptr, options_.queue, settlements);
    } catch (const std::exception& error) {
        answer = is_passing(error) ? Answer::not_now : Answer::no;
        store_failed("settle", error.what());
    }
    bool ended = false;
    bool lonely_waits = false;
    bool room = false;
    Instant next{};
    {
        const base::MutexLock lock(mutex_);
        const std::size_t room_before = claim_room();
        settling_ = 0;
        if (answer == Answer::yes) {
            settler_.succeeded();
            ended = true;
        } else if (answer == Answer::not_now) {
            settler_.failed(std::move(batch), clock_.now());
        } else if (batch.size() > 1) {
            settler_.refused(std::move(batch));
        } else {
            // Nothing more can be done with it here: its lease runs out, and it comes again.
            results.assign(batch.size(), Settled::lost);
            ended = true;
        }
        if (ended)
            for (const Outgoing& outgoing : batch) in_flight_.remove(outgoing.settlement.lease);
        lonely_waits = lonely_.has_value();
        room = room_before == 0 && claim_room() > 0;
        next = settler_.next_due();
    }
    if (ended)
        for (std::size_t i = 0; i < batch.size(); ++i) tell(batch[i], results[i]);
    if (lonely_waits) wake_workers(1);
    if (room) wake(&WakeUps::poller);
    return next;
}

void DispatchCore::tell(const Outgoing& outgoing, Settled settled) const {
    if (options_.observer == nullptr) return;
    const Settlement& settlement = outgoing.settlement;
    Event event{.message = outgoing.message.get(),
                .error = settlement.error,
                .attempts = settlement.lease.retry_count,
                .max_attempts = outgoing.message->max_attempts.value_or(
                    retry_policy(outgoing.message->topic).max_attempts),
                .duration = outgoing.took,
                .delay = settlement.delay};
    switch (settled) {
        case Settled::lost:
            event.kind = EventKind::lost;
            break;
        case Settled::done:
            event.kind = EventKind::delivered;
            break;
        case Settled::ready:
            event.kind =
                settlement.outcome == Outcome::release ? EventKind::released : EventKind::retried;
            if (event.kind == EventKind::retried) ++event.attempts;
            break;
        case Settled::dead:
            event.kind = EventKind::dead;
            event.reason = settlement.outcome == Outcome::abandon ? DeadReason::max_attempts
                                                                  : settlement.reason;
            if (settlement.reason == DeadReason::failed) ++event.attempts;
            break;
    }
    observe(event);
}

Instant DispatchCore::keep_step(Instant now) {
    std::vector<Lease> leases;
    std::vector<std::stop_source> stops;
    bool ungated = false;
    {
        const base::MutexLock lock(mutex_);
        keeper_comes_ = Instant::max();  // until this step has said when
        stops = in_flight_.give_up(now);
        ungated = end_long_solitude(now);
        leases = in_flight_.due(now, renewals_max);
    }
    if (ungated) {
        wake_workers(options_.worker_count);
        wake(&WakeUps::poller);
        wake(&WakeUps::settler);
    }
    for (std::stop_source& stop : std::exchange(stops, {})) stop.request_stop();
    std::vector<Lease> gone;
    if (!leases.empty()) {
        std::vector<bool> stand;
        try {
            stand = store_.extend(options_.queue, leases, options_.lease);
        } catch (const std::exception& error) {
            store_failed("extend", error.what());
        }
        const base::MutexLock lock(mutex_);
        for (std::size_t i = 0; i < leases.size(); ++i) {
            if (stand.empty()) {
                // Past its end others may have the message.
                if (!in_flight_.holds(leases[i], now))
                    stops.push_back(in_flight_.stop_of(leases[i]));
                in_flight_.postpone(leases[i], now + options_.lease / 20);
            } else if (stand[i]) {
                in_flight_.renewed(leases[i], now);
            } else if (InFlight::Lost lost = in_flight_.lost(leases[i]); lost.news) {
                gone.push_back(leases[i]);
                stops.push_back(lost.stop);
            }
        }
    }
    for (std::stop_source& stop : stops) stop.request_stop();
    for (const Lease& lease : gone) {
        Message message;
        message.id = lease.id;
        message.queue = options_.queue;
        message.lease = lease;
        observe({.kind = EventKind::lost, .message = &message});
    }
    const base::MutexLock lock(mutex_);
    keeper_comes_ = in_flight_.next_due();
    return keeper_comes_;
}

// A message that has to be handled alone, or a handler that runs alone, may hold up everything else
// for one lease and no longer.
bool DispatchCore::end_long_solitude(Instant now) {
    bool ended = false;
    if (alone_ && now - alone_since_ >= options_.lease) {
        alone_ = false;
        ended = true;
    }
    if (lonely_ && now - lonely_since_ >= options_.lease) {
        Message message = *std::exchange(lonely_, std::nullopt);
        Settlement back = release(message, options_.lease, "to be delivered alone");
        settle_later(std::move(message), std::move(back), now);
        ended = true;
    }
    return ended;
}

Instant DispatchCore::tend_step(Instant now, std::stop_token stop) {
    try {
        if (now >= next_reap_) {
            next_reap_ = now + options_.reap_interval;
            const std::uint64_t reaped = store_.reap(options_.queue, reap_batch, stop);
            if (reaped > 0) {
                observe({.kind = EventKind::reaped, .count = reaped});
                nudge();
            }
            if (reaped == reap_batch) next_reap_ = now;
            tell_figures();
        }
        const Duration retention = options_.retention.value_or(
            options_.queue == Queue::outbox ? outbox_retention : inbox_retention);
        if (now >= next_purge_ && retention > Duration::zero() && !stop.stop_requested()) {
            next_purge_ = now + options_.purge_interval;
            const PurgeResult result =
                store_.purge(options_.queue, {.older_than = retention, .batch = purge_batch});
            if (result.purged > 0) observe({.kind = EventKind::purged, .count = result.purged});
            if (result.more) next_purge_ = now + purge_pause;
        }
    } catch (const std::exception& error) {
        store_failed("upkeep", error.what());
    }
    return options_.retention == Duration::zero() ? next_reap_ : std::min(next_reap_, next_purge_);
}

void DispatchCore::tell_figures() {
    if (options_.observer == nullptr) return;
    const DispatcherStatus current = status();
    observe({.kind = EventKind::queue_depths,
             .hot_depth = current.hot_depth,
             .cold_depth = current.cold_depth});
    const std::optional<Instant> oldest = store_.counts(options_.queue).oldest;
    const Duration lag =
        oldest ? std::max(Duration::zero(), store_.now() - *oldest) : Duration::zero();
    observe({.kind = EventKind::oldest_lag, .duration = lag});
}

}  // namespace postroom
