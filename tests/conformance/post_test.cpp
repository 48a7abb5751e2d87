// post(): enqueue without waiting for the answer. On every engine it promises what enqueue() does.
#include "conformance/dispatcher_law.hpp"

namespace postroom::test::posts {
namespace {

using namespace std::chrono_literals;

const NewMessage message{.topic = "t", .payload = "p"};

std::vector<Message> all(Store& store) { return store.find(Queue::outbox, {}); }

TEST_P(TransactionLaw, APostedMessageExistsExactlyWhenItsTransactionCommitted) {
    const std::unique_ptr<Store> reader = sandbox().reopen();
    std::vector<std::string> ids;
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        for (int i = 0; i < 3; ++i) ids.push_back(outbox().post(*tx, message).str());
        EXPECT_TRUE(tx->in_transaction());
        EXPECT_THAT(all(*reader), IsEmpty());
        tx->commit();
    }
    std::vector<std::string> found;
    for (const Message& stored : all(*reader)) found.push_back(stored.message_id.str());
    EXPECT_EQ(found, ids);

    const std::unique_ptr<Transaction> undone = store().begin();
    outbox().post(*undone, message);
    undone->rollback();
    {
        const std::unique_ptr<Transaction> dropped = store().begin();
        outbox().post(*dropped, message);
    }
    EXPECT_THAT(all(*reader), SizeIs(3));
}

TEST_P(TransactionLaw, APostedMessageKeepsAllThatItHas) {
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().post(*tx, {.topic = "plain", .payload = ""});
    outbox().post(*tx, {.topic = "rich",
                        .payload = std::string("\0\xff", 2),
                        .content_type = "application/octet-stream",
                        .headers = {{"a", "b"}},
                        .correlation_id = "c",
                        .tenant_id = "tenant",
                        .ordering_key = "line"});
    outbox().post(*tx, {.topic = "later", .payload = "p", .due_time = now() + 1h});
    tx->commit();
    const std::vector<Message> stored = all(store());
    ASSERT_THAT(stored, SizeIs(3));
    EXPECT_EQ(stored[0].payload, "");
    EXPECT_EQ(stored[1].payload, std::string("\0\xff", 2));
    EXPECT_EQ(stored[1].headers, (Headers{{"a", "b"}}));
    EXPECT_EQ(stored[1].ordering_key, "line");
    EXPECT_TRUE(stored[2].due_time.has_value());
}

// The answer is needed: it may be the id of another message.
TEST_P(TransactionLaw, APostWithAKeyThatIsTakenReturnsTheMessageThatHasIt) {
    const NewMessage keyed{.topic = "t", .payload = "p", .idempotency_key = "k"};
    const MessageId first = outbox().enqueue(keyed).message_id;
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_EQ(outbox().post(*tx, keyed), first);
    tx->commit();
    EXPECT_THAT(all(store()), SizeIs(1));
}

TEST_P(TransactionLaw, APostThatBreaksALimitIsRefusedAtOnceAndCostsNothing) {
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_THROW(outbox().post(*tx, {.topic = "", .payload = "p"}), std::invalid_argument);
    outbox().post(*tx, message);
    tx->commit();
    EXPECT_THAT(all(store()), SizeIs(1));
    EXPECT_EQ(kind_thrown([&] { outbox().post(*tx, message); }), ErrorKind::misuse);
}

TEST_P(TransactionLaw, ObserversHearOfAPostedMessageWhenItIsCommitted) {
    Recorder heard;
    const Outbox watched(store(), {.queue = {.observer = &heard}});
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        watched.post(*tx, message);
        tx->rollback();
    }
    EXPECT_EQ(heard.count(EventKind::enqueued), 0U);
    const std::unique_ptr<Transaction> tx = store().begin();
    watched.post(*tx, message);
    tx->commit();
    EXPECT_EQ(heard.count(EventKind::enqueued), 1U);
}

TEST_P(HotPathLaw, APostedMessageIsHandedOverByItsCommit) {
    std::atomic<int> calls = 0;
    DispatcherOptions options = quick();
    options.poll_interval_max = 1h;
    Dispatcher dispatcher(store(), options);
    dispatcher.on("order.placed", [&](const Message& m) { calls += m.payload == "{}"; });
    dispatcher.start();
    const NewMessage placed{.topic = "order.placed", .payload = "{}"};
    {
        const auto tx = store().begin();
        outbox().post(*tx, placed);
    }  // dropped: the room in the hot queue comes back
    const auto tx = store().begin();
    outbox().post(*tx, placed);
    outbox().post(*tx, placed);
    EXPECT_EQ(calls, 0);
    tx->commit();
    for (const Message& stored : all(store()))
        EXPECT_TRUE(eventually_state(stored.id, State::done));
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(heard.count(EventKind::cold_enqueued), 0U);
    EXPECT_EQ(dispatcher.status().hot_depth, 0U);
}

TEST_P(SqlTransactionLaw, StatementsAfterAPostSeeItsRow) {
    sql_sandbox();
    const std::string count = "SELECT count(*) FROM " + table("outbox_live");
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().post(*tx, message);
    EXPECT_EQ(tx->execute({.sql = count, .params = {}}), (SqlRows{{"1"}}));
    outbox().post(*tx, message);
    outbox().enqueue(*tx, message);
    EXPECT_EQ(tx->execute({.sql = count, .params = {}}), (SqlRows{{"3"}}));
    tx->commit();
    EXPECT_THAT(all(store()), SizeIs(3));
}

TEST_P(SqlTransactionLaw, ASavepointThatIsRolledBackTakesWhatWasPostedAlong) {
    std::mutex mutex;
    std::vector<std::string> delivered;
    Recorder heard;
    Dispatcher dispatcher(store(), {.poll_interval_max = 1h, .observer = &heard});
    dispatcher.on("t", [&](const Message& m) {
        const std::lock_guard lock(mutex);
        delivered.push_back(m.payload);
    });
    dispatcher.start();
    const auto tx = store().begin();
    tx->execute({.sql = sql_sandbox().savepoint("half"), .params = {}});
    outbox().post(*tx, {.topic = "t", .payload = "taken back"});
    tx->execute({.sql = sql_sandbox().roll_back_to("half"), .params = {}});
    outbox().post(*tx, {.topic = "t", .payload = "kept"});
    tx->commit();
    const auto give_up = std::chrono::steady_clock::now() + 60s;
    while (heard.count(EventKind::delivered) < 1 && std::chrono::steady_clock::now() < give_up)
        std::this_thread::sleep_for(1ms);
    dispatcher.close();
    EXPECT_THAT(delivered, ElementsAre("kept"));
}

// Nobody tells when it commits, so nothing may be left for that moment.
TEST_P(SqlTransactionLaw, APostInABorrowedTransactionIsWrittenAtOnce) {
    sandbox();
    const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
    outbox().post(*mine, message);
    mine->execute({.sql = "COMMIT", .params = {}});
    EXPECT_THAT(all(store()), SizeIs(1));
}

}  // namespace
}  // namespace postroom::test::posts
