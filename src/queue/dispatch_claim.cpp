// How messages come to the dispatcher: claimed, or handed over by a writer of this process.
#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "queue/dispatch_core.hpp"

namespace postroom {

namespace {

constexpr Duration verify_pause = std::chrono::milliseconds{100};  // after a failure
constexpr int born_leases_in_a_lease = 30;
constexpr Duration handler_still_runs = std::chrono::seconds{1};
// Between two messages that each have to be handled alone.
constexpr Duration lonely_spacing = std::chrono::milliseconds{50};

}  // namespace

// A message that was lost with a worker may have killed it.
bool DispatchCore::is_lonely(const Message& message) const { return message.lost_count > 0; }

// One batch ahead of the workers is enough; the rest is left for other processes. A message that
// has to be handled alone is not joined by others. Nor is anything fetched while outcomes pile up
// that cannot be settled: they are held in memory like the messages.
std::size_t DispatchCore::claim_room() const {
    const std::size_t unsettled = settler_.size() + settling_;
    if (closing_ || lonely_ || alone_ || queues_.cold_ready() >= options_.batch ||
        unsettled >= options_.hot_capacity + options_.cold_capacity)
        return 0;
    return queues_.cold_room();
}

Instant DispatchCore::claim_step(Instant now, std::stop_token stop) {
    verify();
    ClaimPacer::Step step;
    {
        const base::MutexLock lock(mutex_);
        step = pacer_.next(now, claim_room());
    }
    if (step.claim_count == 0) return std::min(step.wait_until, verify_again_at(now));
    std::vector<Message> claimed;
    try {
        claimed = store_.claim(
            options_.queue, {.owner = owner_, .lease = options_.lease, .batch = step.claim_count},
            stop);
    } catch (const std::exception& error) {
        last_claimed_ = 0;
        store_failed("claim", error.what());
        const base::MutexLock lock(mutex_);
        const Instant failed_at = clock_.now();
        pacer_.failed(failed_at);
        return pacer_.next(failed_at, 1).wait_until;
    }
    const std::size_t count = claimed.size();
    last_claimed_ = count;
    std::size_t useful = 0;
    std::vector<Message> unroutable;
    bool keep = false;
    bool settle = false;
    {
        const base::MutexLock lock(mutex_);
        const Instant settler_comes = settler_.next_due();
        if (!claimed.empty())
            offset_ = claimed.front().lease->locked_until - options_.lease - clock_.now();
        useful = admit(now, claimed, unroutable);
        pacer_.claimed(now, step.claim_count, count, useful);
        step = pacer_.next(now, claim_room());
        keep = keeper_waits();
        settle = settler_waits(settler_comes);
    }
    observe({.kind = EventKind::claimed, .count = count, .duration = clock_.now() - now});
    for (const Message& message : unroutable) observe(EventKind::unroutable, message);
    if (useful > 0) {
        observe({.kind = EventKind::cold_enqueued, .count = useful});
        wake_workers(useful);
    }
    if (keep) wake(&WakeUps::keeper);
    if (settle) wake(&WakeUps::settler);
    return step.claim_count > 0 ? now : step.wait_until;
}

Instant DispatchCore::verify_again_at(Instant now) const {
    const base::MutexLock lock(mutex_);
    return unverified_.empty() ? Instant::max() : now + verify_pause;
}

std::size_t DispatchCore::admit(Instant now, std::vector<Message>& claimed,
                                std::vector<Message>& unroutable) {
    std::size_t useful = 0;
    Duration spacing = lonely_spacing;
    for (Message& message : claimed) {
        if (!in_flight_.add(*message.lease, now)) {
            Settlement back = release(message, handler_still_runs,
                                      "a handler that lost this message has not returned yet");
            settle_later(std::move(message), std::move(back), now);
        } else if (std::optional<Refusal> refused = refusal(message, routes_.find(message), now)) {
            settle_later(message, std::move(refused->settlement), now);
            if (refused->unroutable) unroutable.push_back(std::move(message));
        } else if (!is_lonely(message)) {
            queues_.push_cold(std::move(message));
            ++useful;
        } else if (!lonely_) {
            lonely_ = std::move(message);
            lonely_since_ = now;
            settler_.hurry(now);
            ++useful;
        } else {
            Settlement back = release(message, spacing, "to be delivered alone");
            settle_later(std::move(message), std::move(back), now);
            spacing += lonely_spacing;
        }
    }
    return useful;
}

std::optional<DispatchCore::Refusal> DispatchCore::refusal(const Message& message,
                                                           const Routes::Route* route,
                                                           Instant now) const {
    if (closing_)
        return Refusal{.settlement = release(message, Duration::zero(), "the dispatcher stops")};
    const auto dead = [&](DeadReason reason, std::string why) {
        const TopicOptions* const of_topic = topic_options(message.topic);
        return Refusal{.settlement = {.lease = message.lease.value(),
                                      .outcome = Outcome::fail,
                                      .error = std::move(why),
                                      .reason = reason,
                                      .frees_key = of_topic != nullptr && of_topic->frees_key}};
    };
    if (message.lost_count > options_.crash_limit) {
        return dead(DeadReason::crash_limit,
                    "the worker was lost each time it handled this message");
    }
    if (expired(message, now))
        return dead(DeadReason::expired, "expired before it could be delivered");
    if (paused_.contains(message.topic))
        return Refusal{.settlement = release(message, options_.hold_delay, "the topic is paused")};
    if (route == nullptr)
        return unroutable(message, std::move(dead(DeadReason::failed, {}).settlement));
    const std::string& to = destination(message.topic);
    if (!circuits_.may_start(to, now)) {
        return Refusal{.settlement =
                           release(message, circuits_.rest(to, now), "its destination is down")};
    }
    return std::nullopt;
}

DispatchCore::Refusal DispatchCore::unroutable(const Message& message, Settlement dead) const {
    const std::string why = "no handler for topic '" + message.topic + "' of aggregate type '" +
                            message.aggregate_type + "'";
    switch (options_.unroutable) {
        case Unroutable::dead:
            dead.error = why;
            return {.settlement = std::move(dead), .unroutable = true};
        case Unroutable::hold:
            return {.settlement = release(message, options_.hold_delay, why), .unroutable = true};
        case Unroutable::retry:
            break;
    }
    const RetryPolicy& policy = retry_policy(message.topic);
    return {.settlement = {.lease = message.lease.value(),
                           .outcome = Outcome::abandon,
                           .error = why,
                           .delay = policy.delay(message.lease->retry_count + 1, random_),
                           .max_attempts = policy.max_attempts,
                           .frees_key = dead.frees_key},
            .unroutable = true};
}

void DispatchCore::nudge() {
    {
        const base::MutexLock lock(mutex_);
        pacer_.nudged();
    }
    wake(&WakeUps::poller);
}

void DispatchCore::rung() {
    {
        const base::MutexLock lock(mutex_);
        pacer_.rung();
    }
    wake(&WakeUps::poller);
}

std::optional<BornLease> DispatchCore::reserve(std::span<const NewMessage> messages) {
    const Instant now = clock_.now();
    {
        const base::MutexLock lock(mutex_);
        if (closing_ || options_.hot_capacity == 0) return std::nullopt;
        for (const NewMessage& message : messages) {
            // Judged by the database, or by order: not ours to deliver at once.
            if (!message.idempotency_key.empty() || message.due_time || message.expires_at ||
                !message.ordering_key.empty() || message.priority < 0)
                return std::nullopt;
            const std::string& topic = message.topic.str();
            if (paused_.contains(topic) || !circuits_.may_start(destination(topic), now) ||
                routes_.find(message.aggregate_type.str(), topic) == nullptr)
                return std::nullopt;
        }
        const std::size_t unsettled = settler_.size() + settling_;
        if (unsettled < options_.hot_capacity + options_.cold_capacity &&
            queues_.reserve_hot(messages.size())) {
            const BornLease born{.owner = owner_,
                                 .lease_id = born_lease(messages.size(), now),
                                 .lease = options_.lease};
            // The first of several sharers counts: a lease ends here no later than in the database.
            const Reservation fresh{.count = messages.size(), .at = now};
            ++reservations_.try_emplace(born.lease_id, fresh).first->second.sharers;
            return born;
        }
    }
    observe({.kind = EventKind::hot_dropped, .count = messages.size()});
    return std::nullopt;
}

// Messages with one lease id are settled and renewed by one statement, so those that are written
// one by one share it for a while. None gets the same twice: one that comes back is claimed, under
// another.
LeaseId DispatchCore::born_lease(std::size_t count, Instant now) {
    if (count != 1) return LeaseId(static_cast<std::int64_t>(random_.next()));
    if (now >= shared_born_ends_) {
        shared_born_ = LeaseId(static_cast<std::int64_t>(random_.next()));
        shared_born_ends_ = now + options_.lease / born_leases_in_a_lease;
    }
    return shared_born_;
}

std::optional<DispatchCore::Reservation> DispatchCore::end_reservation(const BornLease& born) {
    const auto at = reservations_.find(born.lease_id);
    if (at == reservations_.end()) return std::nullopt;
    const Reservation ended = at->second;
    if (--at->second.sharers == 0) reservations_.erase(at);
    return ended;
}

void DispatchCore::give_back(const BornLease& born) {
    const base::MutexLock lock(mutex_);
    if (const std::optional<Reservation> ended = end_reservation(born))
        queues_.give_back_hot(ended->count);
}

void DispatchCore::hand_over(const BornLease& born, std::vector<Message> messages, bool certain) {
    const std::size_t count = messages.size();
    bool closing = false;
    bool keep = false;
    std::vector<Settlement> late;
    {
        const base::MutexLock lock(mutex_);
        const std::optional<Reservation> reserved = end_reservation(born);
        if (!reserved) return;
        closing = closing_;
        if (closed_) {
            for (const Message& message : messages)
                late.push_back(release(message, Duration::zero(), "the dispatcher has stopped"));
        } else if (closing) {
            queues_.give_back_hot(reserved->count);
            for (Message& message : messages) release_at_close(std::move(message));
        } else if (certain) {
            for (Message& message : messages) accept_hot(std::move(message), reserved->at);
        } else {
            for (Message& message : messages)
                unverified_.push_back({.message = std::move(message), .at = reserved->at});
        }
        keep = keeper_waits();
    }
    if (!late.empty()) return release_now(late);
    if (closing) return wake(&WakeUps::settler);
    if (!certain) return wake(&WakeUps::poller);
    observe({.kind = EventKind::hot_enqueued, .count = count});
    wake_workers(count);
    if (keep) wake(&WakeUps::keeper);
}

bool DispatchCore::keeper_waits() {
    const Instant due = in_flight_.next_due();
    if (due >= keeper_comes_) return false;
    keeper_comes_ = due;
    return true;
}

// Nobody is left to do it later. The transaction that hands over keeps the store alive.
void DispatchCore::release_now(std::span<const Settlement> settlements) noexcept {
    try {
        store_.settle(nullptr, options_.queue, settlements);
    } catch (...) {  // their leases run out
    }
}

// Without a word it would only be claimed when its lease has run out.
void DispatchCore::release_at_close(Message message) {
    Settlement back = release(message, Duration::zero(), "the dispatcher stops");
    settle_later(std::move(message), std::move(back), clock_.now());
}

void DispatchCore::accept_hot(Message message, Instant reserved_at) {
    if (offset_) message.lease->locked_until = reserved_at + *offset_ + options_.lease;
    if (in_flight_.add(*message.lease, reserved_at)) {
        queues_.push_hot(std::move(message));
    } else {
        queues_.give_back_hot(1);
    }
}

// Those that may have been taken back by a savepoint are looked up first.
void DispatchCore::verify() {
    std::vector<Unverified> batch;
    {
        const base::MutexLock lock(mutex_);
        batch = std::exchange(unverified_, {});
    }
    if (batch.empty()) return;
    Query query;
    for (const Unverified& one : batch) query.ids.push_back(one.message.id);
    query.limit = static_cast<std::uint32_t>(batch.size());
    std::map<WorkItemId, LeaseId> standing;
    try {
        for (const Message& message : store_.find(options_.queue, query))
            if (message.lease) standing[message.id] = message.lease->lease_id;
    } catch (const std::exception& error) {
        store_failed("find", error.what());
        const base::MutexLock lock(mutex_);
        std::move(batch.begin(), batch.end(), std::back_inserter(unverified_));
        return;
    }
    std::size_t accepted = 0;
    bool keep = false;
    {
        const base::MutexLock lock(mutex_);
        for (Unverified& one : batch) {
            const auto at = standing.find(one.message.id);
            const bool stands = at != standing.end() && at->second == one.message.lease->lease_id;
            if (stands && !closing_) {
                accept_hot(std::move(one.message), one.at);
                ++accepted;
            } else {
                queues_.give_back_hot(1);
                if (stands) release_at_close(std::move(one.message));
            }
        }
        keep = keeper_waits();
    }
    if (keep) wake(&WakeUps::keeper);
    if (accepted > 0) {
        observe({.kind = EventKind::hot_enqueued, .count = accepted});
        wake_workers(accepted);
    } else {
        wake(&WakeUps::settler);
    }
}

}  // namespace postroom
