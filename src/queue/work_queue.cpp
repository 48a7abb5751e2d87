#include "postroom/work_queue.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "base/utf8.hpp"

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

WorkQueue::WorkQueue(Store& store, Queue queue, const WorkQueueOptions& options)
    : store_(store),
      queue_(queue),
      options_(checked(options, store.limits())),
      owner_(options.owner.is_nil() ? OwnerToken::generate() : options.owner),
      own_random_(options.random == nullptr ? std::make_unique<base::SystemRandom>() : nullptr),
      random_(options.random == nullptr ? own_random_.get() : options.random) {}

WorkQueue::~WorkQueue() = default;

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
    return store_.claim(queue_, {.owner = owner, .lease = lease, .batch = batch}, std::move(stop));
}

std::vector<Message> WorkQueue::claim_due(std::uint32_t limit, std::stop_token stop) const {
    return claim(owner_, options_.lease, limit, std::move(stop));
}

std::vector<Settled> WorkQueue::settle(std::span<const Lease> leases, const Settlement& like,
                                       TxContext* tx) const {
    std::vector<Settlement> settlements(leases.size(), like);
    for (std::size_t i = 0; i < leases.size(); ++i) {
        Settlement& s = settlements[i];
        s.lease = leases[i];
        if (s.outcome == Outcome::abandon && s.delay == Duration::zero()) {
            s.delay = options_.retry.delay(leases[i].retry_count + 1, random());
        }
    }
    return settlements.empty() ? std::vector<Settled>{} : store_.settle(tx, queue_, settlements);
}

std::vector<Settled> WorkQueue::ack(std::span<const Lease> leases, TxContext* tx) const {
    return settle(leases, {.outcome = Outcome::ack}, tx);
}

std::vector<Settled> WorkQueue::abandon(std::span<const Lease> leases, std::string_view error,
                                        std::optional<Duration> delay, TxContext* tx) const {
    require_delay(delay, store_.limits());
    return settle(leases,
                  {.outcome = Outcome::abandon,
                   .error = storable_error(error),
                   .delay = delay.value_or(Duration::zero()),
                   .max_attempts = options_.retry.max_attempts},
                  tx);
}

std::vector<Settled> WorkQueue::fail(std::span<const Lease> leases, std::string_view error,
                                     TxContext* tx) const {
    return settle(leases, {.outcome = Outcome::fail, .error = storable_error(error)}, tx);
}

std::vector<Settled> WorkQueue::release(std::span<const Lease> leases, Duration delay) const {
    if (delay != Duration::zero()) require_delay(delay, store_.limits());
    return settle(leases, {.outcome = Outcome::release, .delay = delay}, nullptr);
}

std::vector<bool> WorkQueue::extend(std::span<const Lease> leases, Duration lease) const {
    require_lease(lease, store_.limits());
    return store_.extend(queue_, leases, lease);
}

std::uint64_t WorkQueue::ack(const OwnerToken& owner, std::span<const WorkItemId> ids) const {
    return count_changed(ack(leases_of(owner, ids)));
}

std::uint64_t WorkQueue::abandon(const OwnerToken& owner, std::span<const WorkItemId> ids,
                                 std::string_view error, std::optional<Duration> delay) const {
    require_delay(delay, store_.limits());
    return count_changed(abandon(leases_of(owner, ids), error, delay));
}

std::uint64_t WorkQueue::fail(const OwnerToken& owner, std::span<const WorkItemId> ids,
                              std::string_view error) const {
    return count_changed(fail(leases_of(owner, ids), error));
}

std::vector<Lease> WorkQueue::leases_of(const OwnerToken& owner,
                                        std::span<const WorkItemId> ids) const {
    require_owner(owner);
    // In pieces: the messages are read with their payloads.
    constexpr std::size_t piece = 500;
    std::vector<Lease> leases;
    for (std::size_t at = 0; at < ids.size(); at += piece) {
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
    while (!stop.stop_requested()) {
        const std::uint64_t reaped = store_.reap(queue_, batch, stop);
        total += reaped;
        if (reaped < batch) break;
    }
    return total;
}

std::optional<Message> WorkQueue::get(const WorkItemId& id) const {
    if (id == WorkItemId{})
        return std::nullopt;  // what enqueue() returns for a message that was done
    std::vector<Message> found = store_.find(queue_, {.ids = {id}});
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::uint64_t WorkQueue::redrive(std::span<const WorkItemId> ids) const {
    return store_.redrive(queue_, ids);
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
