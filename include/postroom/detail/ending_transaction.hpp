// EndingTransaction: somebody else's transaction that is committed and rolled back through us, so
// that we know how it ended and can run the callbacks. The base of the adapters' Transaction
// classes.
//
// Thread safety: as Transaction, one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/transaction.hpp"

namespace postroom::adapter {

class EndingTransaction : public Transaction {
public:
    bool in_transaction() const override { return state_ == State::open; }
    bool reports_end() const override { return true; }

    void after_commit(std::function<void()> callback) override {
        require_open("after_commit");
        after_commit_.push_back(std::move(callback));
    }

    void after_rollback(std::function<void()> callback) override {
        require_open("after_rollback");
        after_rollback_.push_back(std::move(callback));
    }

    void commit() override {
        require_open("commit");
        try {
            do_commit();
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::outcome_unknown) {
                state_ = State::unknown;
            } else {
                rollback_quietly();
            }
            throw;
        }
        state_ = State::committed;
        run(after_commit_);
    }

    void rollback() override {
        if (state_ != State::open) return;
        state_ = State::rolled_back;
        std::exception_ptr
            failed;  // a broken connection rolls back by itself: the callbacks run all the same
        try {
            do_rollback();
        } catch (...) {
            failed = std::current_exception();
        }
        run(after_rollback_);
        if (failed) std::rethrow_exception(failed);
    }

protected:
    // Both end the transaction in the foreign library and throw Error.
    virtual void do_commit() = 0;
    virtual void do_rollback() = 0;

    void require_open(const char* operation) const {
        if (state_ == State::open) return;
        throw Error(ErrorKind::misuse, std::string(operation) + ": the transaction has ended");
    }

    // For the destructor of the derived class, and after a commit that failed.
    void rollback_quietly() noexcept {
        try {
            rollback();
        } catch (...) {  // NOLINT(bugprone-empty-catch): a broken connection rolls back by itself
        }
    }

private:
    enum class State { open, committed, rolled_back, unknown };

    static void run(const std::vector<std::function<void()>>& callbacks) {
        for (const std::function<void()>& callback : callbacks) {
            try {
                callback();
            } catch (...) {  // NOLINT(bugprone-empty-catch): nothing may undo how it ended
            }
        }
    }

    State state_ = State::open;
    std::vector<std::function<void()>> after_commit_{};
    std::vector<std::function<void()>> after_rollback_{};
};

}  // namespace postroom::adapter
