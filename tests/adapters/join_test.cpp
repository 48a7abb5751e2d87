// What holds in a transaction of somebody else's library, whichever library that is.
#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <vector>

#include "adapters/application.hpp"
#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "support/expect_given.hpp"

namespace postroom::test {
namespace {

NewMessage message(const std::string& topic, const std::string& payload = "{}") {
    NewMessage out;
    out.topic = TopicName(topic);
    out.payload = payload;
    return out;
}

ErrorKind kind_thrown_by(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.kind();
    }
    throw std::logic_error("nothing was thrown");
}

TEST_P(JoinedTransaction, CommitMakesTheChangeAndItsMessageVisibleTogether) {
    const Outbox outbox(store());
    app().begin();
    app().place_order("first");
    const EnqueueResult result =
        outbox.enqueue(app().context(), message("order.placed", R"({"id":1})"));
    EXPECT_FALSE(outbox.get(result.id).has_value());
    EXPECT_EQ(app().orders(), 0U);

    app().commit();
    EXPECT_EQ(app().orders(), 1U);
    const std::optional<Message> stored = outbox.get(result.id);
    ASSERT_TRUE(stored.has_value());
    EXPECT_EQ(stored->topic, "order.placed");
    EXPECT_EQ(stored->payload, R"({"id":1})");
    EXPECT_EQ(stored->message_id, result.message_id);
    EXPECT_FALSE(result.already_existed);
}

TEST_P(JoinedTransaction, RollbackLeavesNeither) {
    const Outbox outbox(store());
    NewMessage keyed = message("keyed");
    keyed.idempotency_key = "gone";
    app().begin();
    app().place_order("first");
    outbox.enqueue(app().context(), message("order.placed"));
    outbox.enqueue(app().context(), keyed);
    app().rollback();

    EXPECT_EQ(app().orders(), 0U);
    EXPECT_EQ(outbox.counts().ready, 0U);
    EXPECT_FALSE(outbox.enqueue(keyed).already_existed) << "the key was rolled back too";
}

TEST_P(JoinedTransaction, ASecondMessageWithTheKeyIsReportedAndTheTransactionStaysUsable) {
    const Outbox outbox(store());
    NewMessage keyed = message("order.placed", "first");
    keyed.idempotency_key = "order-1";
    app().begin();
    const EnqueueResult first = outbox.enqueue(app().context(), keyed);
    keyed.payload = "second";
    const EnqueueResult second = outbox.enqueue(app().context(), keyed);
    app().place_order("after the duplicate");
    app().commit();

    EXPECT_FALSE(first.already_existed);
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    EXPECT_EQ(second.message_id, first.message_id);
    EXPECT_EQ(app().orders(), 1U);
    EXPECT_EQ(outbox.counts().ready, 1U);
    EXPECT_EQ(outbox.get(first.id)->payload, "first");

    app().begin();
    const EnqueueResult third = outbox.enqueue(app().context(), keyed);
    app().commit();
    EXPECT_TRUE(third.already_existed);
    EXPECT_EQ(third.id, first.id);
}

TEST_P(JoinedTransaction, PayloadsKeepEveryByteValue) {
    const Outbox outbox(store());
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    for (const std::string& payload : {bytes, std::string(), std::string(1, '\0')}) {
        app().begin();
        const EnqueueResult result = outbox.enqueue(app().context(), message("raw", payload));
        app().commit();
        EXPECT_EQ(outbox.get(result.id)->payload, payload);
    }
}

TEST_P(JoinedTransaction, EveryFieldArrives) {
    const Outbox outbox(store());
    NewMessage full = message("t:opic 'quoted' \"twice\" $1 ?1 \\");
    full.content_type = "text/plain";
    full.headers = {{"trace", "a:b"}, {"\xC3\xA4", "'"}};
    full.correlation_id = "corr::1";
    full.tenant_id = "tenant";
    full.idempotency_key = "key-9";
    full.aggregate_id = "42";
    full.occurred_at = store().now();
    full.expires_at = *full.occurred_at + std::chrono::hours{1};
    full.priority = 7;
    full.max_attempts = 3;
    app().begin();
    const EnqueueResult result = outbox.enqueue(app().context(), full);
    app().commit();

    full.message_id = result.message_id;
    expect_given(full, outbox.get(result.id).value());
}

TEST_P(JoinedTransaction, AMessageWaitsForItsDueTime) {
    const Outbox outbox(store());
    NewMessage later = message("later");
    later.due_time = store().now() + std::chrono::hours{1};
    app().begin();
    const EnqueueResult result = outbox.enqueue(app().context(), later);
    app().commit();

    EXPECT_EQ(outbox.get(result.id)->due_time, later.due_time);
    EXPECT_EQ(outbox.get(result.id)->available_at, *later.due_time);
    EXPECT_TRUE(outbox.claim_due(10).empty());
}

TEST_P(JoinedTransaction, EnqueueAllKeepsTheGivenOrder) {
    const Outbox outbox(store());
    std::vector<NewMessage> messages{message("a", "1"), message("b", std::string(2, '\xFF')),
                                     message("c", "3"), message("d", "4")};
    messages[1].idempotency_key = "b";
    messages[2].due_time = store().now() + std::chrono::hours{1};
    messages[3].correlation_id = "with \"quotes\", commas";
    app().begin();
    const std::vector<EnqueueResult> results = outbox.enqueue_all(app().context(), messages);
    app().commit();

    ASSERT_EQ(results.size(), messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const Message stored = outbox.get(results[i].id).value();
        EXPECT_EQ(stored.topic, messages[i].topic.str());
        EXPECT_EQ(stored.payload, messages[i].payload);
        EXPECT_EQ(stored.correlation_id, messages[i].correlation_id);
    }
}

TEST_P(JoinedTransaction, WithoutATransactionNothingIsWritten) {
    const Outbox outbox(store());
    const auto enqueue = [&] { outbox.enqueue(app().context(), message("lost")); };
    EXPECT_FALSE(app().context().in_transaction());
    EXPECT_EQ(kind_thrown_by(enqueue), ErrorKind::misuse);

    app().begin();
    EXPECT_TRUE(app().context().in_transaction());
    app().commit();
    EXPECT_FALSE(app().context().in_transaction());
    EXPECT_EQ(kind_thrown_by(enqueue), ErrorKind::misuse);

    app().begin();
    app().rollback();
    EXPECT_EQ(kind_thrown_by(enqueue), ErrorKind::misuse);
    EXPECT_EQ(outbox.counts().ready, 0U);
}

TEST_P(JoinedTransaction, AMessageIsAcknowledgedWithTheTransaction) {
    const Outbox outbox(store());
    const EnqueueResult sent = outbox.enqueue(message("work"));
    const Message claimed = outbox.claim_due(1).at(0);
    app().begin();
    EXPECT_EQ(outbox.ack(app().context(), claimed), Settled::done);
    app().rollback();
    EXPECT_EQ(outbox.get(sent.id)->state, State::in_progress);

    app().begin();
    EXPECT_EQ(outbox.ack(app().context(), claimed), Settled::done);
    app().commit();
    EXPECT_EQ(outbox.get(sent.id)->state, State::done);
}

TEST_P(JoinedTransaction, AReceivedMessageIsHandledOnceWithTheTransaction) {
    const Inbox inbox(store());
    const auto handle = [&] {
        return inbox.once(app().context(), {.source = "shop", .message_id = "m-1"},
                          [&] { app().place_order("effect"); });
    };
    app().begin();
    EXPECT_TRUE(handle());
    app().rollback();
    EXPECT_EQ(app().orders(), 0U);

    app().begin();
    EXPECT_TRUE(handle());
    app().commit();
    app().begin();
    EXPECT_FALSE(handle());
    app().commit();
    EXPECT_EQ(app().orders(), 1U);
}

TEST_P(JoinedTransaction, AMessageIsReceivedWithItsHash) {
    const Inbox inbox(store());
    ReceivedMessage received;
    received.topic = TopicName("arrived");
    received.source = "shop";
    received.message_id = "m-2";
    received.payload = std::string("\0\xFE", 2);
    received.hash = std::string("\xFF\0\x01", 3);
    app().begin();
    const ReceiveResult result = inbox.enqueue(app().context(), received);
    app().commit();

    EXPECT_FALSE(result.previous.has_value());
    const Message stored = inbox.get(result.id).value();
    EXPECT_EQ(stored.payload, received.payload);
    EXPECT_EQ(stored.hash, received.hash);
}

TEST_P(JoinedTransaction, WhatTheDatabaseRefusesIsRejected) {
    app().begin();
    EXPECT_EQ(kind_thrown_by([&] {
                  app().context().execute({"SELECT * FROM no_such_table", {}});
              }),
              ErrorKind::rejected);
    app().rollback();
}

TEST_P(JoinedTransaction, NobodyTellsAContextHowTheTransactionEnds) {
    app().begin();
    EXPECT_FALSE(app().context().reports_end());
    EXPECT_EQ(kind_thrown_by([&] { app().context().after_commit([] {}); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown_by([&] { app().context().after_rollback([] {}); }), ErrorKind::misuse);
    app().rollback();
}

}  // namespace
}  // namespace postroom::test
