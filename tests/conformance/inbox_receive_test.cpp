// Enqueuing received messages: an upsert by key, with the rules of re-enqueuing.
#include <atomic>

#include "base/sha256.hpp"
#include "conformance/inbox_states.hpp"
#include "conformance/law.hpp"

namespace postroom::test::receive {
namespace {

using namespace std::chrono_literals;

ReceivedMessage received(const std::string& message_id, const std::string& content = "new") {
    return {.topic = content,
            .source = "shop",
            .message_id = message_id,
            .payload = content,
            .hash = content};
}

TEST_P(ReceiveLaw, IBX_013_AReceivedMessageIsThereForAnotherProcess) {
    inbox().enqueue(received("m"));
    const std::vector<Message> found = sandbox().reopen()->find(Queue::inbox, {});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].source, "shop");
    EXPECT_EQ(found[0].message_id.str(), "m");
    EXPECT_EQ(found[0].topic, "new");
    EXPECT_EQ(found[0].payload, "new");
    EXPECT_EQ(found[0].hash, "new");
}

TEST_P(ReceiveLaw, IBX_014_AMessageThatArrivesTwiceIsQueuedOnce) {
    const ReceiveResult first = inbox().enqueue(received("m"));
    const ReceiveResult second = inbox().enqueue(received("m"));
    EXPECT_FALSE(first.previous.has_value());
    EXPECT_EQ(second.previous, State::ready);
    EXPECT_EQ(second.id, first.id);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(ReceiveLaw, IBX_014_ARaceOfConcurrentArrivalsQueuesEachOnce) {
    inbox();
    std::atomic<int> fresh = 0;
    in_parallel(8, [&](int thread) {
        for (int i = 0; i < 20; ++i) {
            const int n = thread % 2 == 0 ? i : 19 - i;
            if (!inbox().enqueue(received("m-" + std::to_string(n))).previous) ++fresh;
        }
    });
    EXPECT_EQ(fresh, 20);
    EXPECT_THAT(store().find(Queue::inbox, {}), SizeIs(20));
    EXPECT_THAT(claim(), SizeIs(20));
}

// Method: while some redeliver, others work; in the end each was acked exactly once.
TEST_P(ReceiveLaw, IBX_014_ARaceOfArrivalsAndWorkersProcessesEachOnce) {
    inbox();
    std::atomic<int> acked = 0;
    in_parallel(8, [&](int thread) {
        const OwnerToken owner = OwnerToken::generate();
        for (int i = 0; i < 20; ++i) {
            if (thread % 2 == 0) {
                inbox().enqueue(received("m-" + std::to_string(i)));
            } else {
                for (const Settled settled : inbox().ack(leases_of(inbox().claim(owner, 5min, 3))))
                    if (settled == Settled::done) ++acked;
            }
        }
    });
    for (const Settled settled : inbox().ack(leases_of(claim())))
        if (settled == Settled::done) ++acked;
    EXPECT_EQ(acked, 20);
    EXPECT_THAT(store().find(Queue::inbox, {.state = State::done}), SizeIs(20));
}

TEST_P(ReceiveLaw, IBX_014_ARolledBackArrivalNeverHappened) {
    const std::unique_ptr<Transaction> tx = store().begin();
    inbox().enqueue(*tx, received("m"));
    tx->rollback();
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
    EXPECT_FALSE(inbox().enqueue(received("m")).previous.has_value());
}

TEST_P(ReceiveLaw, IBX_102_ManyArrivalsAreStoredAllOrNone) {
    const std::vector<ReceivedMessage> messages{received("a"), received("b"), received("")};
    EXPECT_THROW(inbox().enqueue_all(messages), std::invalid_argument);
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
    EXPECT_THAT(inbox().enqueue_all(std::vector<ReceivedMessage>{}), IsEmpty());
}

TEST_P(ReceiveLaw, ABatchWithOneKeyTwiceQueuesItOnce) {
    const std::vector<ReceivedMessage> messages{received("a", "1"), received("b", "2"),
                                                received("a", "3")};
    const std::vector<ReceiveResult> stored = inbox().enqueue_all(messages);
    ASSERT_THAT(stored, SizeIs(3));
    EXPECT_EQ(stored[2].id, stored[0].id);
    EXPECT_EQ(stored[2].previous, State::ready);
    EXPECT_EQ(get(stored[0].id).payload, "3");
    EXPECT_THAT(claim(), SizeIs(2));
}

TEST_P(ReceiveLaw, IBX_025_IBX_026_FirstSeenStaysAndLastSeenMoves) {
    const Instant before = now();
    const WorkItemId id = inbox().enqueue(received("m")).id;
    const Message first = get(id);
    EXPECT_GE(first.created_at, before);
    EXPECT_LE(first.created_at, now());
    EXPECT_EQ(first.last_seen, first.created_at);
    pass(20ms);
    const Instant again = now();
    EXPECT_GT(again, first.created_at);
    inbox().enqueue(received("m"));
    const Message second = get(id);
    EXPECT_EQ(second.created_at, first.created_at);
    EXPECT_GE(second.last_seen, again);
}

TEST_P(ReceiveLaw, IBX_027_ANewMessageIsUntriedAndProcessing) {
    const Message message = get(inbox().enqueue(received("m")).id);
    EXPECT_EQ(message.retry_count, 0U);
    EXPECT_EQ(message.state, State::ready);
    EXPECT_EQ(state_name(Queue::inbox, message.state), "Processing");
    EXPECT_EQ(message.last_error, "");
}

TEST_P(ReceiveLaw, IBX_028_ADoneMessageStaysDone) {
    for (const Situation situation : {Situation::done, Situation::done_unqueued}) {
        const InboxKey key{.source = "shop", .message_id = to_string(situation)};
        bring(inbox(), me, key, situation);
        pass(5ms);
        const ReceiveResult result = inbox().enqueue(received(key.message_id));
        EXPECT_EQ(result.previous, State::done);
        EXPECT_EQ(result.id, WorkItemId());
        EXPECT_TRUE(result.hash_mismatch);
        EXPECT_EQ(inbox().get(key)->state, State::done);
        EXPECT_EQ(inbox().get(key)->hash, "old");
        EXPECT_EQ(inbox().enqueue(received(key.message_id), Revive::yes).previous, State::done);
        EXPECT_THAT(claim(), IsEmpty());
    }
}

struct Rule {
    Situation situation;
    bool updated;
    State after;
    State after_revive;
};

const std::vector<Rule> rules{
    {Situation::absent, true, State::ready, State::ready},
    {Situation::seen, true, State::ready, State::ready},
    {Situation::marked, true, State::ready, State::ready},
    {Situation::ready, true, State::ready, State::ready},
    {Situation::retrying, true, State::ready, State::ready},
    {Situation::leased, false, State::in_progress, State::in_progress},
    {Situation::dead, true, State::dead, State::ready},
    {Situation::dead_unqueued, true, State::dead, State::ready},
};

TEST_P(ReceiveLaw, IBX_029_ReEnqueuingFollowsTheTable) {
    for (const Revive revive : {Revive::no, Revive::yes}) {
        for (const Rule& rule : rules) {
            const InboxKey key{.source = "shop",
                               .message_id = to_string(rule.situation) +
                                             (revive == Revive::yes ? "-revived" : "")};
            SCOPED_TRACE(key.message_id);
            bring(inbox(), me, key, rule.situation);
            const ReceiveResult result = inbox().enqueue(received(key.message_id), revive);
            if (rule.situation == Situation::absent) {
                EXPECT_FALSE(result.previous.has_value());
                EXPECT_FALSE(result.hash_mismatch);
            } else {
                EXPECT_EQ(result.previous, state_of(rule.situation));
                EXPECT_TRUE(result.hash_mismatch);
            }
            const std::string content = rule.updated ? "new" : "old";
            const State after = revive == Revive::yes ? rule.after_revive : rule.after;
            const Message message = get(result.id);
            EXPECT_EQ(message.topic, content);
            EXPECT_EQ(message.payload, content);
            EXPECT_EQ(message.hash, content);
            EXPECT_EQ(message.state, after);

            const std::vector<Message> claimed = claim(other);
            ASSERT_THAT(claimed, SizeIs(after == State::ready ? 1U : 0U));
            for (const Message& m : claimed) EXPECT_EQ(m.payload, content);
            if (!claimed.empty()) inbox().ack(leases_of(claimed));
        }
    }
}

TEST_P(ReceiveLaw, IBX_029_TheDueTimeIsTakenFromTheNewArrival) {
    ReceivedMessage message = received("m");
    message.due_time = now() + 1h;
    const WorkItemId id = inbox().enqueue(message).id;
    EXPECT_THAT(claim(), IsEmpty());
    message.due_time = now() + 2h;
    EXPECT_EQ(inbox().enqueue(message).id, id);
    EXPECT_EQ(get(id).due_time, message.due_time);
    EXPECT_EQ(get(id).available_at, message.due_time);
    message.due_time.reset();
    inbox().enqueue(message);
    EXPECT_FALSE(get(id).due_time.has_value());
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(ReceiveLaw, IBX_029_ADueTimeDefersAMessageThatWasReady) {
    inbox().enqueue(received("m"));
    ReceivedMessage message = received("m");
    message.due_time = now() + 1h;
    inbox().enqueue(message);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_THAT(store().find(Queue::inbox, {}), SizeIs(1));
}

TEST_P(ReceiveLaw, ARevivedMessageStartsAnew) {
    const InboxKey key{.source = "shop", .message_id = "m"};
    bring(inbox(), me, key, Situation::dead);
    inbox().enqueue(received("m"), Revive::yes);
    const Message message = claim_one();
    EXPECT_EQ(message.retry_count, 0U);
    EXPECT_EQ(message.lost_count, 0U);
    EXPECT_EQ(message.last_error, "");
    EXPECT_EQ(message.dead_reason, DeadReason::none);
}

TEST_P(ReceiveLaw, ALeasedMessageIsDeliveredWithTheContentThatWasClaimed) {
    inbox().enqueue(received("m", "first"));
    const Message claimed = claim_one();
    inbox().enqueue(received("m", "second"));
    EXPECT_EQ(inbox().hash_mismatches(), 1U);
    EXPECT_THAT(inbox().ack(leases_of(claimed)), testing::ElementsAre(Settled::done));
    EXPECT_TRUE(inbox().already_processed({.source = "shop", .message_id = "m"}));
}

TEST_P(ReceiveLaw, IBX_129_ASha256HashIsKeptByteForByte) {
    const base::Sha256Digest digest = base::sha256("{\"amount\":1}");
    ReceivedMessage message = received("m");
    message.hash = std::string(digest.begin(), digest.end());
    const WorkItemId id = inbox().enqueue(message).id;
    EXPECT_EQ(get(id).hash, message.hash);
    EXPECT_FALSE(inbox().enqueue(message).hash_mismatch);
    EXPECT_EQ(claim_one().hash, message.hash);
}

TEST_P(ReceiveLaw, ARedrivenMessageIsNotDoneAnyMore) {
    const InboxKey key{.source = "shop", .message_id = "m"};
    bring(inbox(), me, key, Situation::dead);
    const WorkItemId id = inbox().get(MessageId("m"))->id;
    EXPECT_EQ(inbox().redrive(std::vector<WorkItemId>{id}), 1U);
    EXPECT_EQ(inbox().enqueue(received("m")).previous, State::ready);
    inbox().ack(leases_of(claim_one()));
    EXPECT_TRUE(inbox().already_processed({.source = "shop", .message_id = "m"}));
}

}  // namespace
}  // namespace postroom::test::receive
