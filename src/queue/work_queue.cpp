#include "postroom/work_queue.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "base/utf8.hpp"
#include "postroom/error.hpp"
#include "queue/handler_run.hpp"
#include "queue/message_fields.hpp"
#include "queue/settled_event.hpp"

namespace postroom {

namespace {

void require_owner(const OwnerToken& owner) {
    if (owner.is_nil()) throw std::invalid_argument("owner_token: must not be the nil token");
}

void require_lease(Duration lease, const Limits& limits) {
    if (lease <= Duration::zero() || lease > limits.lease_max) {
        throw std::out_of_range(
            fmt::format("lease: {} s, must be above 0 and at most {} s",
                        std::chrono::duration<double>(lease).count(),
                        std::chrono::duration<double>(limits.lease_max).count()));
    }
}

void require_batch(std::uint32_t batch, const Limits& limits) {
    if (batch == 0 || batch > limits.batch_max) {
        throw std::out_of_range(
            fmt::format("batch: {}, must be between 1 and {}", batch, limits.batch_max));
    }
}

void require_delay(const std::optional<Duration>& delay, const Limits& limits) {
    if (delay && (*delay <= Duration::zero() || *delay > limits.delay_max)) {
        throw std::out_of_range(
            fmt::format("delay: {} s, must be above 0 and at most {} s",
                        std::chrono::duration<double>(*delay).count(),
                        std::chrono::duration<double>(limits.delay_max).count()));
    }
}

const WorkQueueOptions& checked(const WorkQueueOptions& options, const Limits& limits) {
    validate(options.retry);
    require_lease(options.lease, limits);
    return options;
}

}  // namespace

const Lease& Leases::operator[](std::size_t i) const {
    if (messages_.empty()) return leases_[i];
    const std::optional<Lease>& lease = messages_[i].lease;
    if (!lease) throw Error(ErrorKind::misuse, "settle: the message carries no lease");
    return *lease;
}

WorkQueue::WorkQueue(Store& store, Queue queue, const WorkQueueOptions& options)
    : store_(store),
      queue_(queue),
      options_(checked(options, store.limits())),
      owner_(options.owner.is_nil() ? OwnerToken::generate() : options.owner),
      own_random_(options.random == nullptr ? std::make_unique<base::SystemRandom>() : nullptr),
      random_(options.random == nullptr ? own_random_.get() : options.random),
      stopwatch_(options.stopwatch == nullptr ? monotonic_clock() : *options.stopwatch),
      observer_(options.observer == nullptr ? default_observer() : *options.observer) {}

WorkQueue::~WorkQueue() = default;

void WorkQueue::require_unstopped(const std::stop_token& stop, std::string_view verb) {
    if (stop.stop_requested())
        throw Error(ErrorKind::unavailable, fmt::format("{}: stopped before it began", verb));
}

Duration WorkQueue::retention() const {
    constexpr Duration outbox_default = std::chrono::hours{24 * 7};
    constexpr Duration inbox_default = std::chrono::hours{24 * 30};
    return options_.retention.value_or(queue_ == Queue::outbox ? outbox_default : inbox_default);
}

std::uint64_t WorkQueue::count_changed(const std::vector<Settled>& results) {
    return static_cast<std::uint64_t>(std::count_if(results.begin(), results.end(),
                                                    [](Settled s) { return s != Settled::lost; }));
}

// Errors are whatever somebody threw: made storable, then cut to the limit.
std::string WorkQueue::storable_error(std::string_view error) const {
    return std::string(
        base::truncate_utf8(base::sanitize_utf8(error), store_.limits().max_error_chars));
}

std::vector<Message> WorkQueue::claim(const OwnerToken& owner, Duration lease, std::uint32_t batch,
                                      std::stop_token stop) const {
    require_owner(owner);
    require_lease(lease, store_.limits());
    require_batch(batch, store_.limits());
    const Instant before = stopwatch_.now();
    std::vector<Message> claimed;
    std::size_t bytes = options_.claim_bytes;
    // What nobody may be handed is put away, and others take its places.
    for (std::size_t room = batch; room > 0 && bytes > 0;) {
        std::vector<Message> some;
        try {
            some = store_.claim(queue_,
                                {.owner = owner,
                                 .lease = lease,
                                 .batch = static_cast<std::uint32_t>(room),
                                 .bytes = bytes},
                                stop);
        } catch (const Error&) {
            if (claimed.empty()) throw;
            break;  // what is claimed is to be delivered
        }
        room = put_away(some, lease);
        for (const Message& message : some) bytes -= std::min(bytes, content_bytes(message));
        // Messages are costly to move, and mostly these are all.
        if (claimed.empty())
            claimed = std::move(some);
        else
            std::move(some.begin(), some.end(), std::back_inserter(claimed));
    }
    observer_.observe({.kind = EventKind::claimed,
                       .queue = queue_,
                       .store = store_.id(),
                       .count = claimed.size(),
                       .duration = stopwatch_.now() - before});
    return claimed;
}

// A lease ends `lease` after the database's time of the claim: that is the clock that judges.
std::size_t WorkQueue::put_away(std::vector<Message>& claimed, Duration lease) const {
    const auto may_go = [lease](const Message& message) {
        const bool expired =
            message.expires_at && *message.expires_at <= message.lease->locked_until - lease;
        return message.unreadable.empty() && !expired;
    };
    const auto others = std::stable_partition(claimed.begin(), claimed.end(), may_go);
    const std::vector<Message> gone(std::make_move_iterator(others),
                                    std::make_move_iterator(claimed.end()));
    claimed.erase(others, claimed.end());
    std::size_t settled = 0;
    for (const Message& message : gone) {
        const bool expired = message.unreadable.empty();
        try {
            settle(nullptr, Leases(message),
                   {.outcome = Outcome::fail,
                    .error = storable_error(expired ? expired_error
                                                    : std::string_view(message.unreadable)),
                    .reason = expired ? DeadReason::expired : DeadReason::unreadable});
            ++settled;
        } catch (const Error&) {
            // Its lease runs out, and it is met again; the others must not be lost with it.
            observer_.observe({.kind = EventKind::store_failed,
                               .queue = queue_,
                               .store = store_.id(),
                               .error = "a message that nobody may be handed could not be settled",
                               .operation = "claim"});
        }
    }
    return settled;
}

std::vector<Message> WorkQueue::claim_due(std::uint32_t limit, std::stop_token stop) const {
    return claim(owner_, options_.lease, limit, std::move(stop));
}

std::vector<Settled> WorkQueue::settle(TxContext* tx, Leases leases, const Settlement& like) const {
    std::vector<Settlement> settlements(leases.size(), like);
    for (std::size_t i = 0; i < leases.size(); ++i) {
        Settlement& s = settlements[i];
        s.lease = leases[i];
        if (s.outcome == Outcome::abandon && s.delay == Duration::zero()) {
            s.delay = std::min(options_.retry.delay(s.lease.retry_count + 1, random()),
                               store_.limits().delay_max);
        }
    }
    if (settlements.empty()) return {};
    std::vector<Settled> results = store_.settle(tx, queue_, settlements);
    notify_settled(leases, settlements, results);
    return results;
}

// In a transaction this is what will be when it commits, as with messages enqueued.
void WorkQueue::notify_settled(Leases leases, std::span<const Settlement> settlements,
                               std::span<const Settled> results) const {
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!observer_.wants(settled_kind(settlements[i], results[i]))) continue;
        Message shown;
        if (const Message* const message = leases.message(i)) {
            shown = labels_of(*message);
        } else {
            shown.queue = queue_;
        }
        shown.id = settlements[i].lease.id;
        Event event = settled_event(shown, settlements[i], results[i], options_.retry.max_attempts);
        event.store = store_.id();
        observer_.observe(event);
    }
}

Settlement WorkQueue::abandoned(std::string_view error, std::optional<Duration> delay) const {
    require_delay(delay, store_.limits());
    return {.outcome = Outcome::abandon,
            .error = storable_error(error),
            .delay = delay.value_or(Duration::zero()),
            .max_attempts = options_.retry.max_attempts};
}

Settlement WorkQueue::failed(std::string_view error) const {
    return {.outcome = Outcome::fail, .error = storable_error(error)};
}

std::vector<Settled> WorkQueue::ack(Leases leases, std::stop_token stop) const {
    require_unstopped(stop, "ack");
    return settle(nullptr, leases, {.outcome = Outcome::ack});
}

std::vector<Settled> WorkQueue::ack(TxContext& tx, Leases leases) const {
    return settle(&tx, leases, {.outcome = Outcome::ack});
}

std::vector<Settled> WorkQueue::abandon(Leases leases, std::string_view error,
                                        std::optional<Duration> delay, std::stop_token stop) const {
    require_unstopped(stop, "abandon");
    return settle(nullptr, leases, abandoned(error, delay));
}

std::vector<Settled> WorkQueue::abandon(TxContext& tx, Leases leases, std::string_view error,
                                        std::optional<Duration> delay) const {
    return settle(&tx, leases, abandoned(error, delay));
}

std::vector<Settled> WorkQueue::fail(Leases leases, std::string_view error,
                                     std::stop_token stop) const {
    require_unstopped(stop, "fail");
    return settle(nullptr, leases, failed(error));
}

std::vector<Settled> WorkQueue::fail(TxContext& tx, Leases leases, std::string_view error) const {
    return settle(&tx, leases, failed(error));
}

std::vector<Settled> WorkQueue::release(Leases leases, Duration delay, std::stop_token stop) const {
    if (delay != Duration::zero()) require_delay(delay, store_.limits());
    require_unstopped(stop, "release");
    return settle(nullptr, leases, {.outcome = Outcome::release, .delay = delay});
}

std::vector<bool> WorkQueue::extend(Leases leases, Duration lease, std::stop_token stop) const {
    require_lease(lease, store_.limits());
    require_unstopped(stop, "extend");
    std::vector<Lease> held;
    held.reserve(leases.size());
    for (std::size_t i = 0; i < leases.size(); ++i) held.push_back(leases[i]);
    return store_.extend(queue_, held, lease);
}

std::uint64_t WorkQueue::ack(const OwnerToken& owner, std::span<const WorkItemId> ids,
                             std::stop_token stop) const {
    return count_changed(ack(leases_of(owner, ids, stop), stop));
}

std::uint64_t WorkQueue::abandon(const OwnerToken& owner, std::span<const WorkItemId> ids,
                                 std::string_view error, std::optional<Duration> delay,
                                 std::stop_token stop) const {
    require_delay(delay, store_.limits());
    return count_changed(abandon(leases_of(owner, ids, stop), error, delay, stop));
}

std::uint64_t WorkQueue::fail(const OwnerToken& owner, std::span<const WorkItemId> ids,
                              std::string_view error, std::stop_token stop) const {
    return count_changed(fail(leases_of(owner, ids, stop), error, stop));
}

std::vector<Lease> WorkQueue::leases_of(const OwnerToken& owner, std::span<const WorkItemId> ids,
                                        const std::stop_token& stop) const {
    require_owner(owner);
    // In pieces: the messages are read with their payloads.
    constexpr std::size_t piece = 500;
    std::vector<Lease> leases;
    for (std::size_t at = 0; at < ids.size(); at += piece) {
        require_unstopped(stop, "settling by id");
        const auto some = ids.subspan(at, std::min(piece, ids.size() - at));
        const std::vector<Lease> found = leases_of(owner, Query{.ids = {some.begin(), some.end()}});
        leases.insert(leases.end(), found.begin(), found.end());
    }
    return leases;
}

std::vector<Lease> WorkQueue::leases_of(const OwnerToken& owner, Query query) const {
    require_owner(owner);
    query.owner = owner;
    query.limit = store_.limits().batch_max;
    std::vector<Lease> leases;
    for (const Message& message : store_.find(queue_, query)) {
        if (message.lease) leases.push_back(*message.lease);
    }
    return leases;
}

std::uint64_t WorkQueue::reap_expired(std::stop_token stop) const {
    constexpr std::uint32_t batch = 1000;
    std::uint64_t total = 0;
    for (std::uint64_t reaped = batch; reaped == batch; total += reaped)
        reaped = store_.reap(queue_, batch, stop);
    observer_.observe(
        {.kind = EventKind::reaped, .queue = queue_, .store = store_.id(), .count = total});
    return total;
}

std::optional<Message> WorkQueue::get(const WorkItemId& id, std::stop_token stop) const {
    require_unstopped(stop, "get");
    if (id == WorkItemId{})
        return std::nullopt;  // what enqueue() returns for a message that was done
    std::vector<Message> found = store_.find(queue_, {.ids = {id}});
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::uint64_t WorkQueue::redrive(std::span<const WorkItemId> ids, std::stop_token stop) const {
    require_unstopped(stop, "redrive");
    return store_.redrive(queue_, ids);
}

Counts WorkQueue::counts(std::stop_token stop) const {
    require_unstopped(stop, "counts");
    return store_.counts(queue_);
}

std::uint64_t WorkQueue::purge(std::optional<Duration> older_than, std::uint32_t batch,
                               const std::function<void(std::uint64_t)>& progress,
                               std::stop_token stop) const {
    const Duration age = older_than.value_or(retention());
    if (age < Duration::zero()) throw std::out_of_range("older_than: must not be negative");
    require_batch(batch, store_.limits());
    std::uint64_t total = 0;
    while (!stop.stop_requested()) {
        const PurgeResult result = store_.purge(queue_, {.older_than = age, .batch = batch});
        total += result.purged;
        if (progress) progress(total);
        if (result.busy || !result.more) break;
    }
    return total;
}

}  // namespace postroom
