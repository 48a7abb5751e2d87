// Enqueuing: a message is there exactly when its transaction committed, with everything it was
// given.
#include <set>

#include "conformance/law.hpp"
#include "postroom/idempotency.hpp"
#include "postroom/testing.hpp"
#include "support/expect_given.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

enum class UserTopic { created, deleted };
std::string_view to_name(UserTopic topic) {
    return topic == UserTopic::created ? "user.created" : "user.deleted";
}

enum class Aggregate { user, order };
std::string_view to_name(Aggregate aggregate) {
    return aggregate == Aggregate::user ? "USER" : "ORDER";
}

struct UserRenamed {
    static constexpr std::string_view topic = "user.renamed";
    std::string name;
};
std::string to_payload(const UserRenamed& message) { return "{\"name\":\"" + message.name + "\"}"; }

std::vector<Message> all(Store& store) { return store.find(Queue::outbox, {}); }

TEST_P(EnqueueLaw, OBX_001_AnEnqueuedMessageIsThereForAnotherProcess) {
    const EnqueueResult stored = outbox().enqueue({.topic = "t", .payload = "p"});
    const std::vector<Message> found = all(*sandbox().reopen());
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].id, stored.id);
    EXPECT_EQ(found[0].message_id, stored.message_id);
    EXPECT_EQ(found[0].payload, "p");
}

TEST_P(EnqueueLaw, OBX_002_WithoutATransactionTheMessageIsCommittedAtOnce) {
    outbox().enqueue({.topic = "t", .payload = "p"});
    EXPECT_THAT(sandbox().reopen()->claim(Queue::outbox, {.owner = other}), SizeIs(1));
}

TEST_P(EnqueueLaw, OBX_003_EnqueueNeverCommitsTheCallersTransaction) {
    const std::unique_ptr<Store> reader = sandbox().reopen();
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().enqueue(*tx, {.topic = "t", .payload = "p"});
    EXPECT_TRUE(tx->in_transaction());
    EXPECT_THAT(all(*reader), IsEmpty());
    tx->commit();
    EXPECT_THAT(all(*reader), SizeIs(1));
}

TEST_P(EnqueueLaw, OBX_003_EnqueueNeverRollsBackTheCallersTransaction) {
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().enqueue(*tx, {.topic = "first", .payload = "p"});
    EXPECT_THROW(outbox().enqueue(*tx, {.topic = "", .payload = "p"}), std::invalid_argument);
    EXPECT_TRUE(tx->in_transaction());
    outbox().enqueue(*tx, {.topic = "second", .payload = "p"});
    tx->commit();
    EXPECT_THAT(all(store()), SizeIs(2));
}

TEST_P(EnqueueLaw, S001_18_1_ARolledBackTransactionLeavesNoMessage) {
    const std::unique_ptr<Transaction> tx = store().begin();
    outbox().enqueue(*tx, {.topic = "t", .payload = "p"});
    tx->rollback();
    EXPECT_THAT(all(store()), IsEmpty());
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(EnqueueLaw, OBX_080_ManyMessagesAreStoredAllOrNone) {
    const std::vector<NewMessage> messages{{.topic = "a", .payload = "1"},
                                           {.topic = "b", .payload = "2"},
                                           {.topic = "", .payload = "3"}};
    EXPECT_THROW(outbox().enqueue_all(messages), std::invalid_argument);
    EXPECT_THAT(all(store()), IsEmpty());
}

TEST_P(EnqueueLaw, ManyMessagesGetTheirResultsInOrder) {
    std::vector<NewMessage> messages;
    for (int i = 0; i < 100; ++i) {
        NewMessage message{.topic = "t", .payload = std::to_string(i)};
        if (i % 7 == 0) message.idempotency_key = "key-" + std::to_string(i);
        if (i % 11 == 0) message.due_time = now() + 1h;
        if (i % 13 == 0) message.priority = -1;
        messages.push_back(message);
    }
    const std::vector<EnqueueResult> stored = outbox().enqueue_all(messages);
    ASSERT_THAT(stored, SizeIs(100));
    for (std::size_t i = 0; i < stored.size(); ++i) {
        EXPECT_EQ(get(stored[i].id).payload, std::to_string(i));
        EXPECT_FALSE(stored[i].already_existed);
    }
}

TEST_P(EnqueueLaw, NoMessagesIsANoOp) {
    EXPECT_THAT(outbox().enqueue_all(std::vector<NewMessage>{}), IsEmpty());
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_THAT(outbox().enqueue_all(*tx, std::vector<NewMessage>{}), IsEmpty());
    tx->commit();
}

TEST_P(EnqueueLaw, OBX_008_AnEmptyCorrelationIdIsNone) {
    const EnqueueResult stored =
        outbox().enqueue({.topic = "t", .payload = "p", .correlation_id = ""});
    EXPECT_EQ(get(stored.id).correlation_id, "");
}

TEST_P(EnqueueLaw, OBX_009_ACorrelationIdOf255CharactersIsKept) {
    const std::string correlation_id(255, 'c');
    const EnqueueResult stored =
        outbox().enqueue({.topic = "t", .payload = "p", .correlation_id = correlation_id});
    EXPECT_EQ(get(stored.id).correlation_id, correlation_id);
    EXPECT_EQ(claim_one().correlation_id, correlation_id);
}

TEST_P(EnqueueLaw, OBX_014_EveryMessageHasAnIdOfItsOwn) {
    std::set<WorkItemId> ids;
    std::set<MessageId> message_ids;
    const std::vector<NewMessage> messages(500, {.topic = "t", .payload = "p"});
    for (const EnqueueResult& stored : outbox().enqueue_all(messages)) {
        ids.insert(stored.id);
        message_ids.insert(stored.message_id);
    }
    EXPECT_THAT(ids, SizeIs(500));
    EXPECT_THAT(message_ids, SizeIs(500));
}

TEST_P(EnqueueLaw, OBX_015_CreatedAtIsTheDatabasesTime) {
    const ManualClock wrong_clock(Instant{});
    const Outbox late(store(), {.clock = &wrong_clock});
    const Instant before = now();
    const EnqueueResult stored = late.enqueue({.topic = "t", .payload = "p"});
    const Instant after = now();
    EXPECT_GE(get(stored.id).created_at, before);
    EXPECT_LE(get(stored.id).created_at, after);
}

TEST_P(EnqueueLaw, S001_6_1_AMessageOccurredWhenItWasCreatedUnlessItsWriterSaysOtherwise) {
    const WorkItemId plain = put();
    EXPECT_EQ(get(plain).occurred_at, get(plain).created_at);
    EXPECT_EQ(claim_one().occurred_at, get(plain).created_at);
    const Instant yesterday = now() - std::chrono::hours{24};
    const EnqueueResult told =
        outbox().enqueue({.topic = "t", .payload = "p", .occurred_at = yesterday});
    EXPECT_EQ(get(told.id).occurred_at, yesterday);
}

TEST_P(EnqueueLaw, OBX_016_ANewMessageIsUntriedAndUnprocessed) {
    const Message message = get(outbox().enqueue({.topic = "t", .payload = "p"}).id);
    EXPECT_EQ(message.state, State::ready);
    EXPECT_EQ(message.retry_count, 0U);
    EXPECT_EQ(message.lost_count, 0U);
    EXPECT_FALSE(message.processed_at.has_value());
    EXPECT_EQ(message.processed_by, "");
    EXPECT_EQ(message.last_error, "");
    EXPECT_EQ(message.dead_reason, DeadReason::none);
    EXPECT_EQ(message.available_at, message.created_at);
}

TEST_P(EnqueueLaw, O2_AMessageWithoutAKeyGetsOneThatIsItsMessageId) {
    const EnqueueResult stored = outbox().enqueue({.topic = "t", .payload = "p"});
    const Message message = get(stored.id);
    EXPECT_THAT(stored.message_id.str(), SizeIs(26));
    EXPECT_EQ(message.idempotency_key, stored.message_id.str());
    EXPECT_FALSE(message.processed_at.has_value());
    EXPECT_EQ(message.aggregate_type, "__GLOBAL__");
    EXPECT_EQ(message.content_type, "application/json");
}

TEST_P(EnqueueLaw, O2_EveryFieldMakesTheRoundTrip) {
    const Instant some_time{std::chrono::microseconds{1'700'000'000'123'456}};
    const NewMessage given{.topic = "user.created",
                           .payload = "{\"name\":\"J\xC3\xBCrgen\"}",
                           .content_type = "application/vnd.user+json",
                           .headers = {{"trace", "00-ab-cd-01"}},
                           .message_id = MessageId("0190b2c4-aaaa-7bbb-8ccc-0123456789ab"),
                           .correlation_id = "request-1",
                           .tenant_id = "acme",
                           .idempotency_key = "user-1-created",
                           .aggregate_type = "USER",
                           .aggregate_id = "1",
                           .ordering_key = "user-1",
                           .occurred_at = some_time,
                           .expires_at = some_time + 1000h * 24 * 365,
                           .priority = 3,
                           .max_attempts = 4};
    outbox().enqueue(given);
    const Message claimed = claim_one();
    expect_given(given, claimed);
    outbox().abandon(leases_of(claimed), "x", 1ms);
    expect_given(given, get(claimed.id));
    pass(5ms);
    outbox().ack(leases_of(claim_one()));
    expect_given(given, get(claimed.id));
}

TEST_P(EnqueueLaw, S001_18_5_AnEnumTopicIsDeliveredUnderItsName) {
    outbox().enqueue({.topic = UserTopic::created, .payload = "{}"});
    outbox().enqueue({.topic = UserTopic::deleted, .payload = "{}"});
    std::vector<std::string> topics;
    for (const Message& message : claim()) topics.push_back(message.topic);
    EXPECT_THAT(topics, testing::UnorderedElementsAre("user.created", "user.deleted"));
}

TEST_P(EnqueueLaw, S001_18_6_AnEnumAggregateTypeIsStoredUnderItsName) {
    outbox().enqueue(
        {.topic = "t", .payload = "{}", .aggregate_type = Aggregate::user, .aggregate_id = "17"});
    const Message message = claim_one();
    EXPECT_EQ(message.aggregate_type, "USER");
    EXPECT_EQ(message.aggregate_id, "17");
}

TEST_P(EnqueueLaw, ATypedMessageCarriesItsTopicAndPayload) {
    outbox().enqueue(UserRenamed{"Ada"}, {.correlation_id = "c-1"});
    const Message message = claim_one();
    EXPECT_EQ(message.topic, "user.renamed");
    EXPECT_EQ(message.payload, "{\"name\":\"Ada\"}");
    EXPECT_EQ(message.correlation_id, "c-1");
}

TEST_P(EnqueueLaw, O3_AProducerThatRunsTwiceStoresOneMessage) {
    const auto publish = [&] {
        return outbox().enqueue(
            {.topic = "definition.published",
             .payload = "{}",
             .tenant_id = "acme",
             .idempotency_key =
                 deterministic_key("acme", "definition", "17", "published", "3").to_string()});
    };
    const EnqueueResult first = publish();
    const EnqueueResult second = publish();
    EXPECT_FALSE(first.already_existed);
    EXPECT_TRUE(second.already_existed);
    EXPECT_EQ(second.id, first.id);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(EnqueueLaw, O3_DifferentThingsHappenedGiveDifferentMessages) {
    for (const std::string_view instance : {"1", "2", "3"})
        outbox().enqueue(
            {.topic = "instance.cancelled",
             .payload = "{}",
             .idempotency_key =
                 deterministic_key("acme", "instance", instance, "cancelled").to_string()});
    EXPECT_THAT(claim(), SizeIs(3));
}

TEST_P(EnqueueLaw, O11_TheSameInputsGiveTheSameKeyEveryTime) {
    const auto key = [](std::string_view version) {
        return deterministic_key("acme", "order", "17", "placed", version).to_string();
    };
    outbox().enqueue({.topic = "t", .payload = "1", .idempotency_key = key("1")});
    EXPECT_TRUE(outbox()
                    .enqueue({.topic = "t", .payload = "1", .idempotency_key = key("1")})
                    .already_existed);
    EXPECT_FALSE(outbox()
                     .enqueue({.topic = "t", .payload = "2", .idempotency_key = key("2")})
                     .already_existed);
}

TEST_P(EnqueueLaw, AnOutboxThatRequiresATransactionRefusesToDoWithout) {
    const Outbox strict(store(), {.require_transaction = true});
    EXPECT_EQ(kind_thrown([&] { strict.enqueue({.topic = "t", .payload = "p"}); }),
              ErrorKind::misuse);
    EXPECT_THAT(all(store()), IsEmpty());
    const std::unique_ptr<Transaction> tx = store().begin();
    strict.enqueue(*tx, {.topic = "t", .payload = "p"});
    tx->commit();
    EXPECT_THAT(all(store()), SizeIs(1));
}

}  // namespace
}  // namespace postroom::test
