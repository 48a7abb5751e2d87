// BorrowedTransaction: somebody's own transaction, as the library sees it through borrow().
//
// A Session(address) is a connection of the driver alone with a transaction open, which its end
// rolls back; its borrow() is the library's view of that.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "postroom/transaction.hpp"

namespace postroom::test {

template <class Session>
class BorrowedTransaction final : public TxContext {
public:
    explicit BorrowedTransaction(const std::string& address)
        : session_(address), context_(session_.borrow()) {}

    bool in_transaction() const override { return context_->in_transaction(); }
    SqlRows execute(const SqlStatement& statement) override { return context_->execute(statement); }
    bool reports_end() const override { return context_->reports_end(); }
    void after_commit(std::function<void()> callback) override {
        context_->after_commit(std::move(callback));
    }
    void after_rollback(std::function<void()> callback) override {
        context_->after_rollback(std::move(callback));
    }

private:
    Session session_;
    std::unique_ptr<TxContext> context_;
};

}  // namespace postroom::test
