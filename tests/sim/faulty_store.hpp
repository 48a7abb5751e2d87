// FaultyStore: the database as one process sees it: calls fail before their effect, replies get
// lost after it, time passes inside, and the process may die on either side of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/forwarding_store.hpp"
#include "queue/hot_path.hpp"
#include "sim/witness.hpp"

namespace postroom::sim {

// Thrown out of a call by a process that is no more. Not a std::exception, so that nothing but the
// world catches it for good.
struct ProcessCrashed {};

// What may happen around a call. Both throw Error or ProcessCrashed.
class CallWeather {
public:
    CallWeather() = default;
    CallWeather(const CallWeather&) = delete;
    CallWeather& operator=(const CallWeather&) = delete;
    virtual ~CallWeather() = default;

    virtual void before_call(const char* call) = 0;
    // `known`: a failure now is known to undo the call, as within a transaction.
    virtual void after_call(const char* call, bool known) = 0;
    // Whether what is written now is taken back by a savepoint later.
    virtual bool savepoint_rolls_back() = 0;
    virtual bool savepoint_used() = 0;
};

class FaultyTransaction;

class FaultyStore final : public test::ForwardingStore {
public:
    FaultyStore(Witness& witness, Ledger& ledger, CallWeather& weather, Mutant mutant)
        : ForwardingStore(static_cast<Store&>(witness)),
          witness_(witness),
          ledger_(ledger),
          weather_(weather),
          mutant_(mutant) {}

    std::unique_ptr<Transaction> begin() override;
    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born = nullptr) override;
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop = {}) override;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override;
    std::vector<bool> extend(Queue queue, std::span<const Lease> leases, Duration lease) override;
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop = {}) override;
    std::vector<Message> find(Queue queue, const Query& query) override;

private:
    friend class FaultyTransaction;

    std::vector<EnqueueResult> enqueue_in(FaultyTransaction& tx,
                                          std::span<const NewMessage> messages,
                                          const BornLease* born);

    Witness& witness_;
    Ledger& ledger_;
    CallWeather& weather_;
    const Mutant mutant_;
    std::uint64_t never_stored_ = 0;  // ids of what savepoints take back
};

// Tells the ledger what became of the messages written in it.
class FaultyTransaction final : public Transaction {
public:
    FaultyTransaction(FaultyStore& store, std::unique_ptr<Transaction> inner)
        : store_(store), inner_(std::move(inner)) {}
    ~FaultyTransaction() override { rollback(); }

    bool in_transaction() const override { return open_; }
    SqlRows execute(const SqlStatement& statement) override { return inner_->execute(statement); }
    bool reports_end() const override { return true; }
    void after_commit(std::function<void()> callback) override;
    void after_rollback(std::function<void()> callback) override {
        after_rollback_.push_back(std::move(callback));
    }
    void commit() override;
    void rollback() override;

private:
    friend class FaultyStore;

    void end(Fate fate);
    static void run(std::vector<std::function<void()>>& callbacks);

    FaultyStore& store_;
    std::unique_ptr<Transaction> inner_;
    std::vector<int> numbers_;
    std::vector<Settlement> settlements_;
    std::vector<std::function<void()>> after_commit_;
    std::vector<std::function<void()>> after_rollback_;
    bool open_ = true;
};

}  // namespace postroom::sim
