// WorkQueue: the verbs that outbox and inbox share: claim, settle, reap, redrive, purge.
//
// A worker claims a batch under its owner token, handles each message, and settles it: ack (done),
// abandon (again later) or fail (dead). A worker that dies or dawdles loses its leases to others;
// whatever it settles afterwards changes nothing and is reported as Settled::lost.
//
//   for (const Message& message : outbox.claim_due(10)) {
//       send(message);
//       outbox.ack(message);
//   }
//
// Verbs that can be part of a transaction take it first; without one they run in a transaction of
// their own and take a stop token last. A stop that is requested before the database has been asked
// is Error{unavailable}, and nothing happened; a call that has begun is carried through, within the
// store's statement_timeout.
//
// Thread safety: may be shared between threads.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postroom/observer.hpp"
#include "postroom/retry_policy.hpp"
#include "postroom/store.hpp"

namespace postroom {

struct WorkQueueOptions {
    RetryPolicy retry{};  // back-off of abandon(), and how often a message is tried
    OwnerToken owner{};   // of the verbs that take none; nil: a new one
    Duration lease = std::chrono::seconds{30};      // of the verbs that take none
    std::size_t claim_bytes = claim_bytes_default;  // payloads and headers of one claim
    // How long done messages are kept by purge(); none: outbox 7 days, inbox 30 days by when they
    // were last seen.
    std::optional<Duration> retention{};
    Random* random = nullptr;  // jitter and ids; nullptr: the system's. Must outlive the queue
    // Measures how long a claim takes; nullptr: monotonic_clock(). Must outlive the queue
    const Clock* stopwatch = nullptr;
    // Hears of each message enqueued, of claims, settlements and reaps. nullptr:
    // default_observer(). Must outlive the queue, and the transactions that messages were posted
    // in.
    Observer* observer = nullptr;
};

template <class T>
concept HoldsLease = std::same_as<T, Lease> || std::same_as<T, Message>;

// Leases: what a call settles: any number of leases, or of messages as claim() returned them. Made
// from either for the call; does not own them.
class Leases {
public:
    template <std::ranges::contiguous_range Range>
    requires HoldsLease<std::ranges::range_value_t<Range>> Leases(const Range& many)
        : Leases(std::span(std::ranges::data(many), std::ranges::size(many))) {}
    Leases(std::span<const Lease> leases) : leases_(leases) {}
    Leases(std::span<const Message> messages) : messages_(messages) {}
    template <HoldsLease T>
    explicit Leases(const T& one) : Leases(std::span<const T>(&one, 1)) {}

    std::size_t size() const { return leases_.size() + messages_.size(); }
    // Error{misuse} for a message that carries none.
    const Lease& operator[](std::size_t i) const;
    // nullptr when they are leases.
    const Message* message(std::size_t i) const {
        return messages_.empty() ? nullptr : &messages_[i];
    }

private:
    // One of them is empty.
    std::span<const Lease> leases_{};
    std::span<const Message> messages_{};
};

class WorkQueue {
public:
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;
    virtual ~WorkQueue();

    Store& store() const { return store_; }
    Queue queue() const { return queue_; }
    const OwnerToken& owner() const { return owner_; }
    Observer& observer() const { return observer_; }

    // Leases up to `batch` messages to `owner` for `lease` and returns them, `Message::lease` set.
    // Empty when nothing is ready. Throws std::invalid_argument for the nil owner,
    // std::out_of_range for a lease or a batch of zero or beyond the limits. Stops early, with what
    // it has, when `stop` is requested. Messages past their expires_at are not returned but dead.
    [[nodiscard]] std::vector<Message> claim(const OwnerToken& owner, Duration lease,
                                             std::uint32_t batch, std::stop_token stop = {}) const;

    // claim() under this queue's own owner token and lease.
    [[nodiscard]] std::vector<Message> claim_due(std::uint32_t limit,
                                                 std::stop_token stop = {}) const;

    // The messages are done; with `tx`, when that commits. Results in order; see Settled. Whoever
    // settles in a transaction looks at them: with Settled::lost another worker has the message,
    // and the transaction is to be rolled back.
    std::vector<Settled> ack(Leases leases, std::stop_token stop = {}) const;
    [[nodiscard]] std::vector<Settled> ack(TxContext& tx, Leases leases) const;

    // Failed this time: each comes again after `delay`, or after the policy's back-off when none is
    // given, and is dead once its attempts are used up. Throws std::out_of_range for a delay of
    // zero or less.
    std::vector<Settled> abandon(Leases leases, std::string_view error = {},
                                 std::optional<Duration> delay = {},
                                 std::stop_token stop = {}) const;
    [[nodiscard]] std::vector<Settled> abandon(TxContext& tx, Leases leases,
                                               std::string_view error = {},
                                               std::optional<Duration> delay = {}) const;

    // Failed for good: dead, with `error` as the reason to read.
    std::vector<Settled> fail(Leases leases, std::string_view error,
                              std::stop_token stop = {}) const;
    [[nodiscard]] std::vector<Settled> fail(TxContext& tx, Leases leases,
                                            std::string_view error) const;

    // Not tried, or through no fault of the message: claimable again after `delay`, no attempt
    // counted.
    std::vector<Settled> release(Leases leases, Duration delay = {},
                                 std::stop_token stop = {}) const;

    // Prolongs the leases to now + `lease`; false: it was lost.
    [[nodiscard]] std::vector<bool> extend(Leases leases, Duration lease,
                                           std::stop_token stop = {}) const;

    // One lease, or one message.
    template <HoldsLease T>
    Settled ack(const T& one, std::stop_token stop = {}) const {
        return ack(Leases(one), std::move(stop)).front();
    }
    template <HoldsLease T>
    [[nodiscard]] Settled ack(TxContext& tx, const T& one) const {
        return ack(tx, Leases(one)).front();
    }
    template <HoldsLease T>
    Settled abandon(const T& one, std::string_view error = {}, std::optional<Duration> delay = {},
                    std::stop_token stop = {}) const {
        return abandon(Leases(one), error, delay, std::move(stop)).front();
    }
    template <HoldsLease T>
    [[nodiscard]] Settled abandon(TxContext& tx, const T& one, std::string_view error = {},
                                  std::optional<Duration> delay = {}) const {
        return abandon(tx, Leases(one), error, delay).front();
    }
    template <HoldsLease T>
    Settled fail(const T& one, std::string_view error, std::stop_token stop = {}) const {
        return fail(Leases(one), error, std::move(stop)).front();
    }
    template <HoldsLease T>
    [[nodiscard]] Settled fail(TxContext& tx, const T& one, std::string_view error) const {
        return fail(tx, Leases(one), error).front();
    }
    template <HoldsLease T>
    Settled release(const T& one, Duration delay = {}, std::stop_token stop = {}) const {
        return release(Leases(one), delay, std::move(stop)).front();
    }
    template <HoldsLease T>
    [[nodiscard]] bool extend(const T& one, Duration lease, std::stop_token stop = {}) const {
        return extend(Leases(one), lease, std::move(stop)).front();
    }

    // By id. These know no lease: they settle whatever `owner` holds on those ids at this moment,
    // even if it lost and re-claimed a message in between. Unknown, foreign and repeated ids are
    // ignored. They return how many messages changed.
    std::uint64_t ack(const OwnerToken& owner, std::span<const WorkItemId> ids,
                      std::stop_token stop = {}) const;
    std::uint64_t abandon(const OwnerToken& owner, std::span<const WorkItemId> ids,
                          std::string_view error = {}, std::optional<Duration> delay = {},
                          std::stop_token stop = {}) const;
    std::uint64_t fail(const OwnerToken& owner, std::span<const WorkItemId> ids,
                       std::string_view error, std::stop_token stop = {}) const;

    // Takes back every lease that has run out; returns how many. A claim does the same for what it
    // needs; call this from time to time to keep figures honest when claims always find enough.
    std::uint64_t reap_expired(std::stop_token stop = {}) const;

    // The message in whatever state it is, or nullopt.
    std::optional<Message> get(const WorkItemId& id, std::stop_token stop = {}) const;

    // Dead messages are ready again, as new. Returns how many were.
    std::uint64_t redrive(std::span<const WorkItemId> ids, std::stop_token stop = {}) const;

    // Removes done messages older than `older_than` (none: the retention of the options), batch by
    // batch, each in a transaction of its own, until none is left, `stop` is requested, or somebody
    // else turns out to be purging. `progress` hears the total so far.
    std::uint64_t purge(std::optional<Duration> older_than = {}, std::uint32_t batch = 1000,
                        const std::function<void(std::uint64_t)>& progress = {},
                        std::stop_token stop = {}) const;

    Counts counts(std::stop_token stop = {}) const;

protected:
    WorkQueue(Store& store, Queue queue, const WorkQueueOptions& options);

    // The leases that `owner` holds on messages matching `query`.
    std::vector<Lease> leases_of(const OwnerToken& owner, Query query) const;
    // Error{unavailable} when `stop` was requested; `verb` is what does not happen.
    static void require_unstopped(const std::stop_token& stop, std::string_view verb);
    static std::uint64_t count_changed(const std::vector<Settled>& results);
    std::string storable_error(std::string_view error) const;
    Random& random() const { return *random_; }
    const WorkQueueOptions& options() const { return options_; }
    const Clock& stopwatch() const { return stopwatch_; }

private:
    std::vector<Settled> settle(TxContext* tx, Leases leases, const Settlement& like) const;
    std::vector<Lease> leases_of(const OwnerToken& owner, std::span<const WorkItemId> ids,
                                 const std::stop_token& stop) const;
    void notify_settled(Leases leases, std::span<const Settlement> settlements,
                        std::span<const Settled> results) const;
    Settlement abandoned(std::string_view error, std::optional<Duration> delay) const;
    Settlement failed(std::string_view error) const;
    Duration retention() const;
    // Takes what nobody may be handed out of `claimed`, because it has expired or cannot be read,
    // and fails it; returns how many there were.
    std::size_t put_away(std::vector<Message>& claimed, Duration lease) const;

    Store& store_;
    const Queue queue_;
    const WorkQueueOptions options_;
    const OwnerToken owner_;
    const std::unique_ptr<Random> own_random_;
    Random* const random_;
    const Clock& stopwatch_;
    Observer& observer_;
};

}  // namespace postroom
