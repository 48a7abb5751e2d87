// Idempotent enqueue: one message per (tenant, key), whoever asks and how often.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

NewMessage keyed(const std::string& key, const std::string& tenant = "") {
    return {.topic = "t", .payload = "p", .tenant_id = tenant, .idempotency_key = key};
}

std::vector<Message> stored_in(Store& store) { return store.find(Queue::outbox, {}); }

TEST_P(IdempotencyLaw, O1_TheSameKeyOfOneTenantIsStoredOnce) {
    outbox().enqueue(keyed("k", "acme"));
    outbox().enqueue(keyed("k", "acme"));
    EXPECT_THAT(stored_in(store()), SizeIs(1));
}

TEST_P(IdempotencyLaw, O1_TheSameKeyOfTwoTenantsIsStoredTwice) {
    EXPECT_FALSE(outbox().enqueue(keyed("k", "acme")).already_existed);
    EXPECT_FALSE(outbox().enqueue(keyed("k", "umbrella")).already_existed);
    EXPECT_FALSE(outbox().enqueue(keyed("k")).already_existed);
    EXPECT_THAT(stored_in(store()), SizeIs(3));
}

TEST_P(IdempotencyLaw, O5_TheSecondCallReturnsTheIdsOfTheFirst) {
    const EnqueueResult first = outbox().enqueue(keyed("k"));
    NewMessage again = keyed("k");
    again.topic = "other";
    again.payload = "other";
    const EnqueueResult second = outbox().enqueue(again);
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    EXPECT_EQ(second.message_id, first.message_id);
    EXPECT_EQ(get(first.id).topic, "t");
    EXPECT_EQ(get(first.id).payload, "p");
}

// Goal: what is costly to make is made once.
TEST_P(IdempotencyLaw, O5_TryAddCallsTheFactoryOnlyForANewKey) {
    int made = 0;
    const auto make = [&] {
        ++made;
        return NewMessage{.topic = "t", .payload = "p", .tenant_id = "whatever"};
    };
    const EnqueueResult first = outbox().try_add("acme", "k", make);
    EXPECT_FALSE(first.already_existed);
    EXPECT_EQ(get(first.id).tenant_id, "acme");
    EXPECT_EQ(get(first.id).idempotency_key, "k");
    const EnqueueResult second = outbox().try_add("acme", "k", make);
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    EXPECT_EQ(second.message_id, first.message_id);
    EXPECT_EQ(made, 1);
    EXPECT_FALSE(outbox().try_add("other", "k", make).already_existed);
    EXPECT_EQ(made, 2);
    EXPECT_THROW(outbox().try_add("acme", "", make), std::invalid_argument);
}

TEST_P(IdempotencyLaw, O5_TryAddIsPartOfTheCallersTransaction) {
    const auto make = [] { return NewMessage{.topic = "t", .payload = "p"}; };
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().try_add(*tx, "", "k", make);
        EXPECT_TRUE(outbox().try_add(*tx, "", "k", make).already_existed);
        tx->rollback();
    }
    EXPECT_FALSE(outbox().try_add("", "k", make).already_existed);
    EXPECT_THAT(stored_in(store()), SizeIs(1));
}

TEST_P(IdempotencyLaw, O5_O12_ParallelTryAddsStoreOneMessage) {
    outbox();
    std::atomic<int> created = 0;
    in_parallel(16, [&](int) {
        const EnqueueResult stored =
            outbox().try_add("acme", "k", [] { return NewMessage{.topic = "t", .payload = "p"}; });
        if (!stored.already_existed) ++created;
    });
    EXPECT_EQ(created, 1);
    EXPECT_THAT(stored_in(store()), SizeIs(1));
}

TEST_P(IdempotencyLaw, O12_O5_ARaceOfManyThreadsWithOneKeyMakesOneMessage) {
    outbox();
    std::atomic<int> successes = 0;
    std::atomic<int> created = 0;
    std::mutex mutex;
    std::set<WorkItemId> ids;
    in_parallel(64, [&](int) {
        const EnqueueResult stored = outbox().enqueue(keyed("the key", "acme"));
        ++successes;
        if (!stored.already_existed) ++created;
        const std::lock_guard lock(mutex);
        ids.insert(stored.id);
    });
    EXPECT_EQ(successes, 64);
    EXPECT_EQ(created, 1);
    EXPECT_THAT(ids, SizeIs(1));
    EXPECT_THAT(stored_in(store()), SizeIs(1));
}

TEST_P(IdempotencyLaw, O12_ARaceInCallersTransactionsMakesOneMessageAndAllCommit) {
    outbox();
    std::atomic<int> created = 0;
    in_parallel(16, [&](int thread) {
        again_after_conflicts([&] {
            const std::unique_ptr<Transaction> tx = store().begin();
            const bool first = !outbox().enqueue(*tx, keyed("the key")).already_existed;
            outbox().enqueue(*tx, {.topic = "own", .payload = std::to_string(thread)});
            tx->commit();
            if (first) ++created;
        });
    });
    EXPECT_EQ(created, 1);
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "t"}), SizeIs(1));
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "own"}), SizeIs(16));
}

TEST_P(IdempotencyLaw, O5_TheCallersTransactionStaysUsableAfterADuplicate) {
    outbox().enqueue(keyed("k"));
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().enqueue(*tx, {.topic = "before", .payload = "p"});
    EXPECT_TRUE(outbox().enqueue(*tx, keyed("k")).already_existed);
    outbox().enqueue(*tx, {.topic = "after", .payload = "p"});
    tx->commit();
    EXPECT_THAT(stored_in(store()), SizeIs(3));
}

// Method: a second thread asks while the first has not decided yet; it must wait for that decision.
TEST_P(IdempotencyLaw, AConcurrentDuplicateWaitsForTheFirstToCommit) {
    std::unique_ptr<Transaction> tx = store().begin();
    const EnqueueResult first = outbox().enqueue(*tx, keyed("k"));
    std::optional<EnqueueResult> second;
    std::jthread waiting([&] { second = outbox().enqueue(keyed("k")); });
    std::this_thread::sleep_for(50ms);
    tx->commit();
    tx.reset();
    waiting.join();
    ASSERT_TRUE(second.has_value());
    EXPECT_TRUE(second->already_existed);
    EXPECT_EQ(second->id, first.id);
}

TEST_P(IdempotencyLaw, AConcurrentDuplicateIsStoredWhenTheFirstRollsBack) {
    std::unique_ptr<Transaction> tx = store().begin();
    outbox().enqueue(*tx, keyed("k"));
    std::optional<EnqueueResult> second;
    std::jthread waiting([&] { second = outbox().enqueue(keyed("k")); });
    std::this_thread::sleep_for(50ms);
    tx->rollback();
    tx.reset();
    waiting.join();
    ASSERT_TRUE(second.has_value());
    EXPECT_FALSE(second->already_existed);
    EXPECT_THAT(stored_in(store()), SizeIs(1));
}

TEST_P(IdempotencyLaw, ARollbackFreesTheKey) {
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        outbox().enqueue(*tx, keyed("k"));
    }
    EXPECT_FALSE(outbox().enqueue(keyed("k")).already_existed);
    EXPECT_THAT(stored_in(store()), SizeIs(1));
}

TEST_P(IdempotencyLaw, AReplayAfterDeliveryIsStillADuplicate) {
    const EnqueueResult first = outbox().enqueue(keyed("k"));
    outbox().ack(leases_of(claim_one()));
    const EnqueueResult replay = outbox().enqueue(keyed("k"));
    EXPECT_TRUE(replay.already_existed);
    EXPECT_EQ(replay.id, first.id);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(IdempotencyLaw, AReplayOfADeadMessageIsADuplicate) {
    outbox().enqueue(keyed("k"));
    outbox().fail(leases_of(claim_one()), "x");
    EXPECT_TRUE(outbox().enqueue(keyed("k")).already_existed);
}

TEST_P(IdempotencyLaw, AGivenMessageIdIsAKey) {
    const NewMessage message{.topic = "t", .payload = "p", .message_id = MessageId("invoice-17")};
    const EnqueueResult first = outbox().enqueue(message);
    EXPECT_EQ(first.message_id.str(), "invoice-17");
    const EnqueueResult second = outbox().enqueue(message);
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    EXPECT_THAT(stored_in(store()), SizeIs(1));
}

TEST_P(IdempotencyLaw, KeysAreComparedByteByByte) {
    const std::vector<std::string> keys{
        "key",         "Key",          "KEY", "key ", " key",
        "caf\xC3\xA9", "cafe\xCC\x81", "k%y", "k_y",  "\xF0\x9F\x93\xAE",
        "k'y",         "k\\y"};
    for (const std::string& key : keys)
        EXPECT_FALSE(outbox().enqueue(keyed(key)).already_existed) << key;
    for (const std::string& key : keys)
        EXPECT_TRUE(outbox().enqueue(keyed(key)).already_existed) << key;
    EXPECT_FALSE(outbox().enqueue(keyed("key", "acme")).already_existed);
    EXPECT_FALSE(outbox().enqueue(keyed("key", "Acme")).already_existed);
    EXPECT_FALSE(outbox().enqueue(keyed("key", "acme ")).already_existed);
}

TEST_P(IdempotencyLaw, AKeyTwiceInOneBatchIsStoredOnce) {
    const std::vector<NewMessage> messages{
        keyed("b"), keyed("a"), keyed("b"), {.topic = "t", .payload = "p"}};
    const std::vector<EnqueueResult> stored = outbox().enqueue_all(messages);
    ASSERT_THAT(stored, SizeIs(4));
    EXPECT_FALSE(stored[0].already_existed);
    EXPECT_FALSE(stored[1].already_existed);
    EXPECT_TRUE(stored[2].already_existed);
    EXPECT_EQ(stored[2].id, stored[0].id);
    EXPECT_FALSE(stored[3].already_existed);
    EXPECT_THAT(stored_in(store()), SizeIs(3));
}

TEST_P(IdempotencyLaw, OBX_082_ConcurrentBatchesWithTheirKeysInOppositeOrderAllSucceed) {
    outbox();
    std::atomic<int> created = 0;
    in_parallel(8, [&](int thread) {
        for (int round = 0; round < 5; ++round) {
            std::vector<NewMessage> messages;
            for (int i = 0; i < 10; ++i)
                messages.push_back(keyed(std::to_string(round) + "-" + std::to_string(i)));
            if (thread % 2 == 1) std::reverse(messages.begin(), messages.end());
            for (const EnqueueResult& stored : outbox().enqueue_all(messages))
                if (!stored.already_existed) ++created;
        }
    });
    EXPECT_EQ(created, 50);
    EXPECT_THAT(stored_in(store()), SizeIs(50));
}

TEST_P(IdempotencyLaw, ADeferredMessageKeepsItsKeyToo) {
    NewMessage message = keyed("k");
    message.due_time = now() + 1h;
    const EnqueueResult first = outbox().enqueue(message);
    const EnqueueResult second = outbox().enqueue(keyed("k"));
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    EXPECT_THAT(claim(), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
