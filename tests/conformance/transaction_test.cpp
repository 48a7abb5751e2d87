// Transactions of our own: how they end, who hears of it, and what is misuse.
#include <stdexcept>
#include <thread>

#include "conformance/law.hpp"
#include "postroom/ambient.hpp"
#include "postroom/testing.hpp"

namespace postroom::test::transactions {
namespace {

const NewMessage message{.topic = "t", .payload = "p"};

std::vector<Message> all(Store& store) { return store.find(Queue::outbox, {}); }

TEST_P(TransactionLaw, S001_4_3_S001_8_1_WriteBelongsToTheTransactionThatTheThreadNamed) {
    const std::unique_ptr<Transaction> tx = store().begin();
    MessageId id;
    {
        const AmbientTransaction ambient(*tx);
        id = outbox().write("UserCreated", "{\"id\":123}");
        std::jthread([&] {  // another thread has none
            EXPECT_EQ(kind_thrown([&] { outbox().write("UserCreated", "{}"); }), ErrorKind::misuse);
        });
    }
    EXPECT_THAT(all(store()), IsEmpty());
    tx->commit();
    const Message written = claim_one();
    EXPECT_EQ(written.message_id, id);
    EXPECT_EQ(written.topic, "UserCreated");
    EXPECT_EQ(written.payload, "{\"id\":123}");
    EXPECT_EQ(written.content_type, "application/json");
}

TEST_P(TransactionLaw, S001_4_3_AnAmbientTransactionEndsWithItsScope) {
    EXPECT_EQ(kind_thrown([&] { outbox().write("t", "{}"); }), ErrorKind::misuse);
    const std::unique_ptr<Transaction> outer = store().begin();
    {
        const AmbientTransaction ambient(*outer);
        EXPECT_EQ(AmbientTransaction::current(), outer.get());
        outbox().write("t", "{}");
        {
            MemoryStore another;
            const std::unique_ptr<Transaction> nested = another.begin();
            const AmbientTransaction hides(*nested);
            EXPECT_EQ(AmbientTransaction::current(), nested.get());
        }
        EXPECT_EQ(AmbientTransaction::current(), outer.get());
    }
    EXPECT_EQ(AmbientTransaction::current(), nullptr);
    outer->rollback();
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(TransactionLaw, CommitMakesEverythingVisibleTogether) {
    const std::unique_ptr<Store> reader = sandbox().reopen();
    const std::unique_ptr<Transaction> tx = store().begin();
    for (int i = 0; i < 3; ++i) outbox().enqueue(*tx, message);
    EXPECT_THAT(all(*reader), IsEmpty());
    tx->commit();
    EXPECT_THAT(all(*reader), SizeIs(3));
    EXPECT_FALSE(tx->in_transaction());
}

TEST_P(TransactionLaw, TheDestructorRollsBack) {
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, message);
    }
    EXPECT_THAT(all(store()), IsEmpty());
}

TEST_P(TransactionLaw, AnExceptionThroughTheCallerRollsBack) {
    const auto place_order = [&] {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, message);
        throw std::runtime_error("out of stock");
    };
    EXPECT_THROW(place_order(), std::runtime_error);
    EXPECT_THAT(all(store()), IsEmpty());
}

TEST_P(TransactionLaw, AfterCommitRunsInOrderOnceTheMessageIsVisible) {
    const std::unique_ptr<Transaction> tx = store().begin();
    std::vector<std::string> calls;
    outbox().enqueue(*tx, message);
    tx->after_commit([&] { calls.push_back("first " + std::to_string(all(store()).size())); });
    tx->after_commit([&] { calls.push_back("second"); });
    tx->after_rollback([&] { calls.push_back("rollback"); });
    EXPECT_THAT(calls, IsEmpty());
    tx->commit();
    EXPECT_THAT(calls, ElementsAre("first 1", "second"));
}

TEST_P(TransactionLaw, AfterRollbackRunsWhoeverAskedForIt) {
    int rollbacks = 0;
    int commits = 0;
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        tx->after_rollback([&] { ++rollbacks; });
        tx->after_commit([&] { ++commits; });
        tx->rollback();
        EXPECT_EQ(rollbacks, 1);
    }
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        tx->after_rollback([&] { ++rollbacks; });
        tx->after_commit([&] { ++commits; });
    }
    EXPECT_EQ(rollbacks, 2);
    EXPECT_EQ(commits, 0);
}

TEST_P(TransactionLaw, WhatACallbackThrowsDoesNotUndoTheCommit) {
    const std::unique_ptr<Transaction> tx = store().begin();
    bool reached = false;
    outbox().enqueue(*tx, message);
    tx->after_commit([] { throw std::runtime_error("callback"); });
    tx->after_commit([&] { reached = true; });
    EXPECT_NO_THROW(tx->commit());
    EXPECT_TRUE(reached);
    EXPECT_THAT(all(store()), SizeIs(1));
}

TEST_P(TransactionLaw, ATransactionOfOursReportsItsEnd) {
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_TRUE(tx->reports_end());
    EXPECT_TRUE(tx->in_transaction());
    tx->rollback();
    EXPECT_FALSE(tx->in_transaction());
}

TEST_P(TransactionLaw, UseAfterCommitIsMisuse) {
    const std::unique_ptr<Transaction> tx = store().begin();
    tx->commit();
    EXPECT_EQ(kind_thrown([&] { outbox().enqueue(*tx, message); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] { tx->commit(); }), ErrorKind::misuse);
    EXPECT_NO_THROW(tx->rollback());
    EXPECT_THAT(all(store()), IsEmpty());
}

TEST_P(TransactionLaw, UseAfterRollbackIsMisuse) {
    const std::unique_ptr<Transaction> tx = store().begin();
    tx->rollback();
    EXPECT_EQ(kind_thrown([&] { outbox().enqueue(*tx, message); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] { tx->commit(); }), ErrorKind::misuse);
    EXPECT_NO_THROW(tx->rollback());
    EXPECT_THAT(all(store()), IsEmpty());
}

TEST_P(TransactionLaw, EveryVerbRefusesAFinishedTransaction) {
    outbox().enqueue(message);
    const Message claimed = claim_one();
    const std::unique_ptr<Transaction> tx = store().begin();
    tx->commit();
    const InboxKey key{.source = "s", .message_id = "m"};
    EXPECT_EQ(kind_thrown([&] { (void)outbox().ack(*tx, claimed); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] { (void)inbox().already_processed(*tx, key); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] { inbox().mark_processed(*tx, key); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] {
                  inbox().enqueue(*tx,
                                  {.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
              }),
              ErrorKind::misuse);
    EXPECT_EQ(get(claimed.id).state, State::in_progress);
}

TEST_P(TransactionLaw, ATransactionOfAnotherStoreIsMisuse) {
    const std::unique_ptr<Sandbox> foreign = elsewhere();
    const std::unique_ptr<Transaction> tx = foreign->store().begin();
    EXPECT_EQ(kind_thrown([&] { outbox().enqueue(*tx, message); }), ErrorKind::misuse);
    tx->commit();
    EXPECT_THAT(all(store()), IsEmpty());
    EXPECT_THAT(all(foreign->store()), IsEmpty());
}

TEST_P(TransactionLaw, ATransactionSeesItsOwnKeys) {
    const std::unique_ptr<Transaction> tx = store().begin();
    NewMessage keyed = message;
    keyed.idempotency_key = "k";
    const EnqueueResult first = outbox().enqueue(*tx, keyed);
    const EnqueueResult second = outbox().enqueue(*tx, keyed);
    EXPECT_FALSE(first.already_existed);
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    tx->commit();
    EXPECT_THAT(all(store()), SizeIs(1));
}

TEST_P(TransactionLaw, ManyTransactionsCanBeUsedOneAfterTheOther) {
    for (int i = 0; i < 50; ++i) {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, message);
        if (i % 2 == 0) tx->commit();
    }
    EXPECT_THAT(all(store()), SizeIs(25));
}

TEST_P(TransactionLaw, ConcurrentTransactionsOfManyThreadsDoNotMix) {
    outbox();
    in_parallel(8, [&](int thread) {
        for (int i = 0; i < 5; ++i) {
            again_after_conflicts([&] {
                const std::unique_ptr<Transaction> tx = store().begin();
                outbox().enqueue(*tx,
                                 {.topic = thread % 2 == 0 ? "kept" : "dropped", .payload = "p"});
                if (thread % 2 == 0) tx->commit();
            });
        }
    });
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "kept"}), SizeIs(20));
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "dropped"}), IsEmpty());
}

}  // namespace
}  // namespace postroom::test::transactions
