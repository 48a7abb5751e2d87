// Exactly one effect: the effect and the done mark in one transaction.
//
// The effect here is a message in the outbox of the same store, which every backend has.
#include <atomic>
#include <stdexcept>

#include "conformance/law.hpp"

namespace postroom::test::once {
namespace {

const InboxKey m{.source = "shop", .message_id = "m"};

ReceivedMessage received(const std::string& message_id) {
    return {.topic = "t", .source = "shop", .message_id = message_id, .payload = "p"};
}

std::vector<Message> effects(Store& store) { return store.find(Queue::outbox, {}); }

TEST_P(OnceLaw, OnceRunsTheEffectTheFirstTimeOnly) {
    for (const bool expected : {true, false, false}) {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_EQ(
            inbox().once(*tx, m, [&] { outbox().enqueue(*tx, {.topic = "e", .payload = "p"}); }),
            expected);
        tx->commit();
    }
    EXPECT_THAT(effects(store()), SizeIs(1));
    EXPECT_TRUE(inbox().already_processed(m));
}

TEST_P(OnceLaw, ARollbackUndoesTheEffectAndTheMark) {
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_TRUE(
            inbox().once(*tx, m, [&] { outbox().enqueue(*tx, {.topic = "e", .payload = "p"}); }));
        tx->rollback();
    }
    EXPECT_THAT(effects(store()), IsEmpty());
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_TRUE(
        inbox().once(*tx, m, [&] { outbox().enqueue(*tx, {.topic = "e", .payload = "p"}); }));
    tx->commit();
    EXPECT_THAT(effects(store()), SizeIs(1));
}

TEST_P(OnceLaw, AnEffectThatThrowsIsNotMarked) {
    const auto handle = [&] {
        const std::unique_ptr<Transaction> tx = store().begin();
        inbox().once(*tx, m, [&] {
            outbox().enqueue(*tx, {.topic = "e", .payload = "p"});
            throw std::runtime_error("handler");
        });
        tx->commit();
    };
    EXPECT_THROW(handle(), std::runtime_error);
    EXPECT_THAT(effects(store()), IsEmpty());
    EXPECT_FALSE(inbox().already_processed(m));
}

TEST_P(OnceLaw, ARaceOfConcurrentCallersRunsTheEffectOnce) {
    inbox();
    outbox();
    std::atomic<int> ran = 0;
    in_parallel(8, [&](int) {
        for (int i = 0; i < 5; ++i) {
            again_after_conflicts([&] {
                const std::unique_ptr<Transaction> tx = store().begin();
                const bool first =
                    inbox().once(*tx, {.source = "shop", .message_id = "m-" + std::to_string(i)},
                                 [&] { outbox().enqueue(*tx, {.topic = "e", .payload = "p"}); });
                tx->commit();
                if (first) ++ran;
            });
        }
    });
    EXPECT_EQ(ran, 5);
    EXPECT_THAT(effects(store()), SizeIs(5));
}

TEST_P(OnceLaw, ARaceWithRollbacksStillRunsTheEffectOnce) {
    inbox();
    outbox();
    std::atomic<int> committed = 0;
    const auto attempt = [&](int thread) {
        const std::unique_ptr<Transaction> tx = store().begin();
        const bool ran =
            inbox().once(*tx, m, [&] { outbox().enqueue(*tx, {.topic = "e", .payload = "p"}); });
        if (thread % 2 == 0) {
            tx->commit();
            if (ran) ++committed;
        }
    };
    // Where several wait for one that rolls back, a database may choose victims: they begin again.
    in_parallel(8, [&](int thread) { again_after_conflicts([&] { attempt(thread); }); });
    EXPECT_EQ(committed, 1);
    EXPECT_THAT(effects(store()), SizeIs(1));
}

TEST_P(OnceLaw, OnceTakesAQueuedMessageOutOfTheQueue) {
    inbox().enqueue(received("m"));
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_TRUE(inbox().once(*tx, m, [] {}));
    tx->commit();
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(inbox().enqueue(received("m")).previous, State::done);
}

TEST_P(OnceLaw, OnceAfterAnAckDoesNotRun) {
    inbox().enqueue(received("m"));
    inbox().ack(leases_of(claim_one()));
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_FALSE(inbox().once(*tx, m, [] { FAIL() << "ran twice"; }));
}

TEST_P(OnceLaw, AnAckInATransactionCommitsTogetherWithTheEffect) {
    inbox().enqueue(received("m"));
    const Message message = claim_one();
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().enqueue(*tx, {.topic = "e", .payload = "p"});
    EXPECT_THAT(inbox().ack(*tx, leases_of(message)), ElementsAre(Settled::done));
    tx->commit();
    EXPECT_THAT(effects(store()), SizeIs(1));
    EXPECT_TRUE(inbox().already_processed(m));
}

TEST_P(OnceLaw, AnAckThatRollsBackLeavesTheMessageForTheNextWorker) {
    inbox().enqueue(received("m"));
    const Message message = claim_one(short_lease);
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, {.topic = "e", .payload = "p"});
        EXPECT_THAT(inbox().ack(*tx, leases_of(message)), ElementsAre(Settled::done));
        tx->rollback();
    }
    EXPECT_THAT(effects(store()), IsEmpty());
    pass(after_short_lease);
    const std::vector<Message> again = claim(other);
    ASSERT_THAT(again, SizeIs(1));
    EXPECT_THAT(inbox().ack(leases_of(again)), ElementsAre(Settled::done));
}

TEST_P(OnceLaw, AWorkerThatLostItsLeaseLearnsItBeforeItCommits) {
    inbox().enqueue(received("m"));
    const Message stale = claim_one(short_lease);
    pass(after_short_lease);
    const std::vector<Message> taken = claim(other);
    ASSERT_THAT(taken, SizeIs(1));
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, {.topic = "e", .payload = "p"});
        EXPECT_THAT(inbox().ack(*tx, leases_of(stale)), ElementsAre(Settled::lost));
        tx->rollback();
    }
    EXPECT_THAT(effects(store()), IsEmpty());
    EXPECT_THAT(inbox().ack(leases_of(taken)), ElementsAre(Settled::done));
}

}  // namespace
}  // namespace postroom::test::once
