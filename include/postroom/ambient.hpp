// AmbientTransaction: the transaction that Outbox::write() of this thread belongs to.
//
// For code that cannot hand a transaction through every call: whoever begins it names it here, and
// what runs below writes without knowing it. Where a transaction can be passed on, pass it on.
//
//   auto tx = store->begin();
//   const AmbientTransaction ambient(*tx);
//   place_order(17);  // somewhere inside: outbox.write("order.placed", json)
//   tx->commit();
//
// Lifetime: a stack object, ended by the thread that made it and in reverse order; the transaction
// must outlive it. An inner one hides the outer one until it ends.
// Thread safety: each thread has its own.
#pragma once

#include "postroom/transaction.hpp"

namespace postroom {

class AmbientTransaction {
public:
    explicit AmbientTransaction(TxContext& tx);
    ~AmbientTransaction();
    AmbientTransaction(const AmbientTransaction&) = delete;
    AmbientTransaction& operator=(const AmbientTransaction&) = delete;

    // The innermost of the calling thread; nullptr: there is none.
    static TxContext* current();

private:
    TxContext* const outer_;
};

}  // namespace postroom
