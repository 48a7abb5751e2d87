// WorkQueue: the verbs that outbox and inbox share: claim, settle, reap, redrive, purge.
//
// A worker claims a batch under its owner token, handles each message, and settles it: ack (done),
// abandon (again later) or fail (dead). A worker that dies or dawdles loses its leases to others;
// whatever it settles afterwards changes nothing and is reported as Settled::lost.
//
// Thread safety: may be shared between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "postroom/retry_policy.hpp"
#include "postroom/store.hpp"

namespace postroom {

struct WorkQueueOptions {
    RetryPolicy retry{};  // back-off of abandon(), and how often a message is tried
    OwnerToken owner{};   // of the verbs that take none; nil: a new one
    Duration lease = std::chrono::seconds{30};  // of the verbs that take none
    // How long done messages are kept by purge(); none: outbox 7 days, inbox 30 days by when they
    // were last seen.
    std::optional<Duration> retention{};
    Random* random = nullptr;  // jitter and ids; nullptr: the system's. Must outlive the queue
};

class WorkQueue {
public:
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;
    virtual ~WorkQueue();

    Store& store() const { return store_; }
    Queue queue() const { return queue_; }
    const OwnerToken& owner() const { return owner_; }

    // Leases up to `batch` messages to `owner` for `lease` and returns them, `Message::lease` set.
    // Empty when nothing is ready. Throws std::invalid_argument for the nil owner,
    // std::out_of_range for a lease or a batch of zero or beyond the limits.
    std::vector<Message> claim(const OwnerToken& owner, Duration lease, std::uint32_t batch,
                               std::stop_token stop = {}) const;

    // The same under this queue's own owner token and lease.
    std::vector<Message> claim_due(std::uint32_t limit, std::stop_token stop = {}) const;

    // The messages are done. With `tx`, when that commits. Results in order; see Settled.
    std::vector<Settled> ack(std::span<const Lease> leases, TxContext* tx = nullptr) const;

    // Failed this time: each comes again after `delay`, or after the policy's back-off when none is
    // given, and is dead once its attempts are used up. Throws std::out_of_range for a delay of
    // zero or less.
    std::vector<Settled> abandon(std::span<const Lease> leases, std::string_view error = {},
                                 std::optional<Duration> delay = {}, TxContext* tx = nullptr) const;

    // Failed for good: dead, with `error` as the reason to read.
    std::vector<Settled> fail(std::span<const Lease> leases, std::string_view error,
                              TxContext* tx = nullptr) const;

    // Not tried, or through no fault of the message: claimable again after `delay`, no attempt
    // counted.
    std::vector<Settled> release(std::span<const Lease> leases, Duration delay = {}) const;

    // Prolongs the leases to now + `lease`; false: it was lost.
    std::vector<bool> extend(std::span<const Lease> leases, Duration lease) const;

    // The same by id. These know no lease: they settle whatever `owner` holds on those ids at this
    // moment, even if it lost and re-claimed a message in between. Unknown, foreign and repeated
    // ids are ignored. They return how many messages changed.
    std::uint64_t ack(const OwnerToken& owner, std::span<const WorkItemId> ids) const;
    std::uint64_t abandon(const OwnerToken& owner, std::span<const WorkItemId> ids,
                          std::string_view error = {}, std::optional<Duration> delay = {}) const;
    std::uint64_t fail(const OwnerToken& owner, std::span<const WorkItemId> ids,
                       std::string_view error) const;

    // Takes back every lease that has run out; returns how many. A claim does the same for what it
    // needs; call this from time to time to keep figures honest when claims always find enough.
    std::uint64_t reap_expired(std::stop_token stop = {}) const;

    // The message in whatever state it is, or nullopt.
    std::optional<Message> get(const WorkItemId& id) const;

    // Dead messages are ready again, as new. Returns how many were.
    std::uint64_t redrive(std::span<const WorkItemId> ids) const;

    // Removes done messages older than `older_than` (none: the retention of the options), batch by
    // batch, each in a transaction of its own, until none is left, `stop` is requested, or somebody
    // else turns out to be purging. `progress` hears the total so far.
    std::uint64_t purge(std::optional<Duration> older_than = {}, std::uint32_t batch = 1000,
                        const std::function<void(std::uint64_t)>& progress = {},
                        std::stop_token stop = {}) const;

    Counts counts() const { return store_.counts(queue_); }

protected:
    WorkQueue(Store& store, Queue queue, const WorkQueueOptions& options);

    // The leases that `owner` holds on messages matching `query`.
    std::vector<Lease> leases_of(const OwnerToken& owner, Query query) const;
    static std::uint64_t count_changed(const std::vector<Settled>& results);
    std::string storable_error(std::string_view error) const;
    Random& random() const { return *random_; }
    const WorkQueueOptions& options() const { return options_; }

private:
    std::vector<Settled> settle(std::span<const Lease> leases, const Settlement& like,
                                TxContext* tx) const;
    std::vector<Lease> leases_of(const OwnerToken& owner, std::span<const WorkItemId> ids) const;
    Duration retention() const;

    Store& store_;
    const Queue queue_;
    const WorkQueueOptions options_;
    const OwnerToken owner_;
    const std::unique_ptr<Random> own_random_;
    Random* const random_;
};

}  // namespace postroom
