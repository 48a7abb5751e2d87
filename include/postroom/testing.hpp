// MemoryStore, ManualClock, drain(): a store without a database, time that stands until it is told
// to move, and a dispatcher without threads.
//
// For unit tests of code that uses an Outbox, an Inbox or a Dispatcher:
//
//     postroom::ManualClock clock;
//     postroom::MemoryStore store(clock);
//     place_order(store, order);                                   // your code
//     ASSERT_EQ(store.enqueued("order.placed").size(), 1u);
//     postroom::drain(store, routes);                              // your handlers
//     clock.advance(30s);                                          // leases run out, retries fall
//     due
//
// MemoryStore is also the reference for what every other store does: the same states, claim order,
// retries, leases, idempotency keys and inbox rules, as code that is short enough to be read in one
// sitting.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/message.hpp"
#include "postroom/open_store.hpp"
#include "postroom/operator.hpp"

namespace postroom {

// ManualClock: shows the same time until it is moved. Starts at 2024-01-01 00:00 UTC, so that a
// test prints the same times on every day.
//
// Thread safety: may be read and moved concurrently.
class ManualClock final : public Clock {
public:
    explicit ManualClock(Instant start = std::chrono::sys_days{std::chrono::year{2024} / 1 / 1})
        : now_(start) {}

    Instant now() const override { return now_.load(); }

    // Moves the clock on; a negative duration moves it back.
    void advance(Duration by) {
        Instant before = now_.load();
        while (!now_.compare_exchange_weak(before, before + by)) {
        }
    }

    void set(Instant now) { now_.store(now); }

private:
    std::atomic<Instant> now_;
};

// MemoryStore: both queues in the memory of this process; gone with the object.
//
// Of the options it uses keep_history, dedupe_window, limits, store_id and statement_timeout.
//
// Transactions behave as those of a database that reads committed data. What is written in one is
// invisible to everybody else until its commit, and is dropped by a rollback. Results are computed
// at the call, from what is committed and what the transaction itself did before. If the committed
// data changes until the commit so that one of those results no longer holds (a lease was taken
// over), commit() rolls back and throws Error{conflict}.
//
// An idempotency key or an inbox key that an open transaction has touched belongs to it until it
// ends; any other call that needs the key waits for that, at most statement_timeout of real time,
// then throws Error{conflict}. So a thread that holds one transaction and repeats its key outside
// of it waits for itself and gets the conflict.
//
// There is no SQL: enqueue_statement() and TxContext::execute() throw Error{misuse}, and so does
// every operation that is given a transaction of something else. Arguments that break a limit are
// std::invalid_argument.
//
// Every call in a transaction repeats that transaction's earlier calls, so a thousand messages are
// better given to one enqueue() than to a thousand. Claims look at every message.
//
// Lifetime: the store must outlive its transactions.
// Thread safety: all operations may be called concurrently; a transaction belongs to one thread at
// a time.
class MemoryStore final : public Store, public StoreControls {
public:
    // On the machine's clock.
    explicit MemoryStore(const OpenOptions& options = {});

    // `clock` must outlive the store; it plays the database's clock. With a `seed` the nonces and
    // lease ids are the same in each run.
    explicit MemoryStore(const Clock& clock, const OpenOptions& options = {},
                         std::optional<std::uint64_t> seed = std::nullopt);
    ~MemoryStore() override;

    // What was enqueued in the outbox on `topic` and committed, in order of seq and in any state:
    // ready, leased, dead, and delivered ones too as long as the history keeps them.
    std::vector<Message> enqueued(std::string_view topic);

    Instant now() override;
    [[nodiscard]] std::unique_ptr<Transaction> begin() override;
    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born = nullptr) override;
    std::optional<EnqueueResult> find_key(TxContext* tx, const std::string& tenant_id,
                                          const std::string& idempotency_key) override;
    SqlStatement enqueue_statement(const NewMessage& message) override;
    std::vector<ReceiveResult> receive(TxContext* tx, std::span<const ReceivedMessage> messages,
                                       bool revive = false) override;
    SeenResult see(TxContext* tx, const InboxKey& key,
                   const std::optional<std::string>& hash) override;
    std::optional<State> mark(TxContext* tx, const InboxKey& key, State state,
                              const std::string& error) override;
    [[nodiscard]] std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                                             std::stop_token stop = {}) override;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override;
    [[nodiscard]] std::vector<bool> extend(Queue queue, std::span<const Lease> leases,
                                           Duration lease) override;
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop = {}) override;
    std::vector<Message> find(Queue queue, const Query& query) override;
    std::uint64_t redrive(Queue queue, std::span<const WorkItemId> ids) override;
    PurgeResult purge(Queue queue, const PurgeRequest& request) override;
    Counts counts(Queue queue) override;
    std::unique_ptr<Doorbell> doorbell(Queue queue) override;

    std::vector<PausedTopic> paused_topics() override;
    void pause_topic(const std::string& topic) override;
    void resume_topic(const std::string& topic) override;
    std::uint64_t discard(Queue queue, std::span<const WorkItemId> ids) override;
    std::uint64_t retry_now(Queue queue, std::span<const WorkItemId> ids) override;
    void report_worker(const WorkerReport& report) override;
    void forget_worker(const OwnerToken& owner, Queue queue) override;
    std::vector<WorkerReport> workers() override;
    void note_repeat(const std::string& source, Repeat what) override;
    std::vector<SourceRepeats> repeats() const override;
    std::vector<FailedAttempt> attempts(Queue queue, const WorkItemId& id) override;
    void record_audit(const AuditEntry& entry) override;
    std::vector<AuditEntry> audit_log(std::uint64_t before_id, std::uint32_t limit) override;
    std::vector<Finding> examine() override;

private:
    class Core;
    std::unique_ptr<Core> core_;
};

// Delivers everything that is ready on `store` to the handlers of `routes`, in this thread, by the
// rules of a Dispatcher with these options, and returns how many handlers were called. What is not
// due, or waits for a retry, stays; move the clock and drain again. What the store throws is told
// to the observer of the options; what handlers throw ends in the outcome of their message.
std::size_t drain(Store& store, const Routes& routes, const DispatcherOptions& options = {});

}  // namespace postroom
