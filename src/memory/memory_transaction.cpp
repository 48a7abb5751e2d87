#include "memory/memory_transaction.hpp"

#include <utility>

#include "postroom/error.hpp"

namespace postroom {

MemoryTransaction::~MemoryTransaction() { rollback(); }

TransactionLog* MemoryTransaction::log_of(TxContext* tx, const MemoryDatabase& database) {
    if (tx == nullptr) return nullptr;
    auto* ours = dynamic_cast<MemoryTransaction*>(tx);
    if (ours == nullptr || &ours->database_ != &database)
        throw Error(ErrorKind::misuse, "the transaction is not one of this MemoryStore");
    ours->require_open();
    return &ours->log_;
}

void MemoryTransaction::require_open() const {
    if (!open_) throw Error(ErrorKind::misuse, "the transaction has ended");
}

SqlRows MemoryTransaction::execute(const SqlStatement&) {
    throw Error(ErrorKind::misuse, "MemoryStore has no SQL");
}

void MemoryTransaction::after_commit(std::function<void()> callback) {
    require_open();
    after_commit_.push_back(std::move(callback));
}

void MemoryTransaction::after_rollback(std::function<void()> callback) {
    require_open();
    after_rollback_.push_back(std::move(callback));
}

void MemoryTransaction::commit() {
    require_open();
    open_ = false;
    if (!database_.commit(log_)) {
        run(after_rollback_);
        throw Error(ErrorKind::conflict,
                    "what the transaction was told has changed before its commit; rolled back");
    }
    run(after_commit_);
}

void MemoryTransaction::rollback() {
    if (!open_) return;
    open_ = false;
    database_.rollback(log_);
    run(after_rollback_);
}

void MemoryTransaction::run(Callbacks& callbacks) {
    for (const auto& callback : callbacks) {
        try {
            callback();
        } catch (...) {
            // The transaction has ended; nothing that a callback does may change that.
        }
    }
}

}  // namespace postroom
