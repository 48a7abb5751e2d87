// MemoryTransaction: the caller's side of a transaction of a MemoryStore.
#pragma once

#include <functional>
#include <vector>

#include "memory/memory_database.hpp"
#include "postroom/transaction.hpp"

namespace postroom {

class MemoryTransaction final : public Transaction {
public:
    // `database` must outlive the transaction.
    explicit MemoryTransaction(MemoryDatabase& database) : database_(database) {}
    ~MemoryTransaction() override;

    // The log of `tx`, to be passed to `database`; nullptr for nullptr. Throws Error{misuse} unless
    // `tx` is an open transaction of `database`.
    static TransactionLog* log_of(TxContext* tx, const MemoryDatabase& database);

    bool in_transaction() const override { return open_; }
    SqlRows execute(const SqlStatement& statement) override;
    bool reports_end() const override { return true; }
    void after_commit(std::function<void()> callback) override;
    void after_rollback(std::function<void()> callback) override;
    void commit() override;
    void rollback() override;

private:
    using Callbacks = std::vector<std::function<void()>>;

    void require_open() const;
    void run(Callbacks& callbacks);

    MemoryDatabase& database_;
    bool open_ = true;
    TransactionLog log_;
    Callbacks after_commit_;
    Callbacks after_rollback_;
};

}  // namespace postroom
