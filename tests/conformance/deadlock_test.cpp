// Two transactions that wait for each other: the database ends one of them, and its caller can
// repeat it.
#include <atomic>
#include <barrier>
#include <utility>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

NewMessage with_key(const std::string& key) {
    return {.topic = "t", .payload = "p", .idempotency_key = key};
}

// Goal: a deadlock is reported as a conflict, and neither message is lost or doubled.
// Method: each of two transactions holds a key that the other one wants next.
TEST_P(RowLockLaw, OBX_082_IBX_104_ADeadlockEndsOneTransactionWhichCanBeRepeated) {
    outbox();
    std::barrier both_hold_theirs(2);
    std::atomic<int> conflicts = 0;
    in_parallel(2, [&](int i) {
        const std::string mine = i == 0 ? "a" : "b";
        const std::string wanted = i == 0 ? "b" : "a";
        bool first = true;
        again_after_conflicts([&] {
            try {
                const std::unique_ptr<Transaction> tx = store().begin();
                outbox().enqueue(*tx, with_key(mine));
                if (std::exchange(first, false)) both_hold_theirs.arrive_and_wait();
                outbox().enqueue(*tx, with_key(wanted));
                tx->commit();
            } catch (const Error& error) {
                if (error.kind() == ErrorKind::conflict) ++conflicts;
                throw;
            }
        });
    });
    EXPECT_GE(conflicts, 1);
    EXPECT_THAT(store().find(Queue::outbox, {}), testing::SizeIs(2));
}

}  // namespace
}  // namespace postroom::test
