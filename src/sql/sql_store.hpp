// SqlStore: the one Store for all SQL databases. It knows the verbs and their parameters; the
// dialect knows the SQL.
//
// Thread safety: as Store.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "postroom/store_controls.hpp"
#include "postroom/table_adoption.hpp"
#include "sql/backend.hpp"
#include "sql/compiled.hpp"
#include "sql/runner.hpp"

namespace postroom::sql {

class SqlStore final : public Store, public StoreControls, public TableAdoption {
public:
    SqlStore(const Backend& backend, const OpenOptions& options);

    Instant now() override;
    std::unique_ptr<Transaction> begin() override { return runner_.begin(); }

    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born) override;
    Posted post(TxContext& tx, std::span<const NewMessage> messages,
                const BornLease* born) override;
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
    std::uint64_t redrive(Queue queue, std::span<const WorkItemId> ids) override;
    PurgeResult purge(Queue queue, const PurgeRequest& request) override;
    Counts counts(Queue queue) override;
    std::unique_ptr<Doorbell> doorbell(Queue queue) override;

    std::vector<PausedTopic> paused_topics() override;
    void pause_topic(const std::string& topic) override;
    void resume_topic(const std::string& topic) override;
    std::uint64_t discard(Queue queue, std::span<const WorkItemId> ids) override;
    std::vector<Finding> examine() override;

    std::vector<std::string> columns_of(const std::string& table) override;
    AdoptCounts count(const ForeignTable& table) override;
    AdoptResult adopt(const AdoptRequest& request) override;
    std::uint64_t backfill(const ForeignTable& table, std::uint32_t chunk) override;
    std::uint64_t count_without_key(const ForeignTable& table) override;

private:
    Duration claimable_in(Queue queue);
    // Of the columns of somebody else's table, by name; none: there is no such table.
    std::map<std::string, std::string> types_of(TxContext& tx, const std::string& table);
    std::vector<Settled> settle_once(TxContext* tx, Queue queue,
                                     std::span<const Settlement> settlements, bool keep_history);
    // Runs one unit and returns its single integer.
    std::uint64_t run_for_count(const Unit& unit, const std::function<void(Params&)>& fill,
                                std::stop_token stop = {});

    // Constant after construction.
    const OpenOptions options_;
    const Placeholder placeholder_;
    const std::string in_array_;
    SqlValue (*const render_)(const Value&);
    const CompiledDialect units_;
    const ForeignTexts foreign_;
    const decltype(Backend::doorbell) doorbell_;

    // Synchronize themselves.
    base::SystemRandom random_;
    Runner runner_;
    // Leases are renewed on a connection of their own and before what others write, so that
    // handlers which use up the connections, or many writers, do not lose them. Made when first
    // needed.
    Runner keeper_;
    std::atomic<std::uint32_t> turn_{0};
};

}  // namespace postroom::sql
