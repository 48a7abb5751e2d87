// SqlStore: the one Store for all SQL databases. It knows the verbs and their parameters; the
// dialect knows the SQL.
//
// Thread safety: as Store.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "postroom/operator.hpp"
#include "postroom/restore.hpp"
#include "queue/hot_path.hpp"
#include "queue/repeats.hpp"
#include "queue/sql_access.hpp"
#include "sql/backend.hpp"
#include "sql/compiled.hpp"
#include "sql/enqueue_group.hpp"
#include "sql/restore_guard.hpp"
#include "sql/runner.hpp"
#include "sql/search.hpp"

namespace postroom::sql {

class ClaimedRows;

class SqlStore final : public Store,
                       public StoreControls,
                       public RestoreControls,
                       public SqlAccess {
public:
    SqlStore(const Backend& backend, const OpenOptions& options);

    Instant now() override;
    std::unique_ptr<Transaction> begin() override { return runner_.begin(); }

    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born) override;
    Posted post(TxContext& tx, std::span<const NewMessage> messages,
                const BornLease* born) override;
    std::optional<EnqueueResult> find_key(TxContext* tx, const std::string& tenant_id,
                                          const std::string& idempotency_key) override;
    std::vector<WorkItemId> find_keyed(Queue queue, const std::string& message_id) override;
    SqlStatement enqueue_statement(const NewMessage& message) override;

    std::vector<ReceiveResult> receive(TxContext* tx, std::span<const ReceivedMessage> messages,
                                       bool revive) override;
    SeenResult see(TxContext* tx, const InboxKey& key,
                   const std::optional<std::string>& hash) override;
    std::optional<State> mark(TxContext* tx, const InboxKey& key, State state,
                              const std::string& error) override;

    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop) override;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override;
    std::vector<bool> extend(Queue queue, std::span<const Lease> leases, Duration lease) override;
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop) override;

    std::vector<Message> find(Queue queue, const Query& query) override;
    FoundPage find_within(Queue queue, const Query& query, Duration patience) override;
    std::uint64_t count(Queue queue, const Query& query) override;
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
    void note_repeat(const std::string& source, Repeat what) override {
        repeats_.note(source, what);
    }
    std::vector<SourceRepeats> repeats() const override { return repeats_.list(); }
    std::vector<FailedAttempt> attempts(Queue queue, const WorkItemId& id) override;
    void record_audit(const AuditEntry& entry) override;
    std::vector<AuditEntry> audit_log(std::uint64_t before_id, std::uint32_t limit) override;
    std::vector<Finding> examine() override;

    StoreHome home() override { return guard_.home(runner_); }
    void hold_delivery(const std::string& why) override;
    void end_hold(const std::string& decision, const std::string& who) override;
    std::uint64_t set_aside(std::span<const WorkItemId> ids) override;

    const SqlWords& words() const override { return *words_; }
    SqlRows read(const SqlStatement& query) override { return runner_.read(query); }
    std::optional<std::vector<RoutineResult>> enqueue_by_routine(
        std::span<const NewMessage> messages) override;

private:
    struct UnreadClaim {
        Queue queue;
        LeaseId lease_id;
        // Until then the database may still be about to make it, or its leases may last.
        std::chrono::steady_clock::time_point until{};
    };

    std::unique_ptr<EnqueueGroup> make_enqueue_group(const Backend& backend);
    std::vector<EnqueueResult> write_messages(TxContext* tx,
                                              std::span<const NewMessage* const> messages,
                                              const BornLease* born);
    void lease_and_read(Queue queue, const ClaimRequest& request, LeaseId lease_id,
                        ClaimedRows& rows, const std::stop_token& stop);
    // False: nothing is leased, or the database did not tell what is.
    bool read_singly(Queue queue, const ClaimRequest& request, LeaseId lease_id, ClaimedRows& rows);
    void read_one(Message labels, ClaimedRows& rows);
    std::vector<WorkItemId> held_under(Queue queue, LeaseId lease_id);
    void release(Queue queue, const std::vector<Lease>& leases);
    void note_unread(Queue queue, const ClaimRequest& request, LeaseId lease_id,
                     const std::exception& error);
    void keep_unread(const UnreadClaim& claim, std::chrono::steady_clock::time_point look_at);
    void release_unread();
    std::vector<UnreadClaim> take_unread();

    // Leases for an operator those of these messages that nobody holds.
    std::vector<Lease> lease_free(Queue queue, std::span<const WorkItemId> ids);

    Duration claimable_in(Queue queue);
    SearchWords search_words(Queue queue, const Query& query);
    std::vector<Message> find_at_once(Queue queue, const Query& query);
    // From one end of the numbers to the other, bit by bit, until there are enough.
    FoundPage find_bit_by_bit(Queue queue, const Query& query, Duration patience);
    // Of the numbers that `query` leaves, the next: in each table no more than `rows` messages.
    Query next_bit(Queue queue, const Query& query, std::uint64_t rows);
    // Runs one statement of `search`; `reset` comes before the rows, and again when it is repeated.
    void search(const std::string& text, const Search& search, const std::function<void()>& reset,
                const std::function<void(const Row&)>& read);
    std::vector<Settled> settle_once(TxContext* tx, Queue queue,
                                     std::span<const Settlement> settlements, bool keep_history);
    // Runs what has no rows.
    void write(const Batch& batch);
    // Runs a unit over :seqs and :nonces; returns how many it changed.
    std::uint64_t change_these(const Unit& unit, std::span<const WorkItemId> ids);
    // Runs one unit and returns its single integer.
    std::uint64_t run_for_count(const Unit& unit, const std::function<void(Params&)>& fill,
                                std::stop_token stop = {});

    // Constant after construction.
    const OpenOptions options_;
    const Placeholder placeholder_;
    const SearchWords words_of_search_;  // of either queue
    SqlValue (*const render_)(const Value&);
    const CompiledDialect units_;
    const SqlWords* const words_;
    const decltype(Backend::doorbell) doorbell_;

    // Synchronize themselves.
    base::SystemRandom random_;
    Repeats repeats_;
    RestoreGuard guard_;
    Runner runner_;
    // Leases are renewed on a connection of their own and before what others write, so that
    // handlers which use up the connections, or many writers, do not lose them. Made when first
    // needed.
    Runner keeper_;
    const std::unique_ptr<EnqueueGroup> enqueue_group_;  // nullptr: the database has no use for one
    std::atomic<std::uint64_t> claims_{0};               // how many there were

    // Claims of which the database did not tell what they leased.
    base::Mutex unread_mutex_;
    std::vector<UnreadClaim> unread_ POSTROOM_GUARDED_BY(unread_mutex_);
    std::chrono::steady_clock::time_point unread_look_ POSTROOM_GUARDED_BY(unread_mutex_){};
};

}  // namespace postroom::sql
