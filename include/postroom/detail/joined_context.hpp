// JoinedContext: somebody's transaction that we take part in and that nobody ends through us. The
// base of the adapters' context classes.
//
// Thread safety: as TxContext, one thread at a time.
#pragma once

#include <functional>
#include <string>

#include "postroom/error.hpp"
#include "postroom/transaction.hpp"

namespace postroom::adapter {

class JoinedContext : public TxContext {
public:
    bool reports_end() const override { return false; }
    void after_commit(std::function<void()> /*callback*/) override { refuse("after_commit"); }
    void after_rollback(std::function<void()> /*callback*/) override { refuse("after_rollback"); }

protected:
    // `instead`: the class that does hear how the transaction ends.
    explicit JoinedContext(const char* instead) : instead_(instead) {}

private:
    [[noreturn]] void refuse(const char* operation) const {
        throw Error(
            ErrorKind::misuse,
            std::string(operation) + ": nobody tells how this transaction ends; use " + instead_);
    }

    const char* instead_;
};

}  // namespace postroom::adapter
