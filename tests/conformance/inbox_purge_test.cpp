// Cleaning the inbox: done messages by when they were last seen, and nothing else.
#include <atomic>
#include <stop_token>

#include "conformance/inbox_states.hpp"
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

void receive_and_ack(const Inbox& inbox, const OwnerToken& owner, int count) {
    for (int i = 0; i < count; ++i)
        bring(inbox, owner, {.source = "shop", .message_id = "done-" + std::to_string(i)},
              Situation::done);
}

TEST_P(InboxPurgeLaw, IBX_098_IBX_099_PurgeRemovesDoneMessagesAndNothingElse) {
    for (const Situation situation : all_situations)
        if (situation != Situation::ready)
            bring(inbox(), me, {.source = "shop", .message_id = to_string(situation)}, situation);
    bring(inbox(), me, {.source = "shop", .message_id = "ready"}, Situation::ready);
    pass(10ms);
    EXPECT_EQ(inbox().purge(1ms), 2U);
    std::vector<std::string> left;
    for (const Message& message : store().find(Queue::inbox, {}))
        left.push_back(message.message_id.str());
    EXPECT_THAT(left, testing::UnorderedElementsAre("seen", "marked", "ready", "retrying", "leased",
                                                    "dead", "dead_unqueued"));
}

TEST_P(InboxPurgeLaw, IBX_100_PurgeKeepsWhatIsWithinTheRetention) {
    receive_and_ack(inbox(), me, 3);
    EXPECT_EQ(inbox().purge(24h * 30), 0U);
    EXPECT_THAT(store().find(Queue::inbox, {.state = State::done}), SizeIs(3));
}

// A sender that still repeats its message must not find it forgotten.
TEST_P(InboxPurgeLaw, IBX_100_AMessageSeenAgainIsKeptFromThenOn) {
    std::uint64_t purged = 0;
    for (bool told = false; !told;) {
        receive_and_ack(inbox(), me, 2);
        pass(600ms);
        const Instant seen_again = now();
        EXPECT_TRUE(inbox().already_processed({.source = "shop", .message_id = "done-0"}));
        purged = inbox().purge(500ms);
        told = now() < seen_again + 500ms;
        if (told) continue;
        // The machine stood still, and both are old: that tells nothing.
        pass(600ms);
        inbox().purge(500ms);
    }
    EXPECT_EQ(purged, 1U);
    EXPECT_TRUE(inbox().already_processed({.source = "shop", .message_id = "done-0"}));
    EXPECT_FALSE(inbox().already_processed({.source = "shop", .message_id = "done-1"}));
}

TEST_P(InboxPurgeLaw, IBX_101_PurgeWorksInBatchesAndTellsItsProgress) {
    receive_and_ack(inbox(), me, 12);
    pass(10ms);
    std::vector<std::uint64_t> progress;
    EXPECT_EQ(inbox().purge(1ms, 5, [&](std::uint64_t total) { progress.push_back(total); }), 12U);
    ASSERT_GE(progress.size(), 3U);
    EXPECT_EQ(progress[0], 5U);
    EXPECT_EQ(progress[1], 10U);
    EXPECT_EQ(progress.back(), 12U);
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
}

TEST_P(InboxPurgeLaw, IBX_101_OneBatchOfAPurgeTakesNoMoreThanAsked) {
    receive_and_ack(inbox(), me, 3);
    pass(10ms);
    const PurgeResult first = store().purge(Queue::inbox, {.older_than = 1ms, .batch = 2});
    EXPECT_EQ(first.purged, 2U);
    EXPECT_TRUE(first.more);
    EXPECT_EQ(store().purge(Queue::inbox, {.older_than = 1ms, .batch = 2}).purged, 1U);
}

// What 003 says of a message (5.2.1, A.1) is there for those that are done too: acknowledged alone,
// in a run, or after a failure.
TEST_P(InboxPurgeLaw, S003_5_2_1_ADoneMessageHasItsContentAttemptAndErrorUntilThePurge) {
    const Draft draft{.payload = "p", .content_type = "text/plain", .headers = {{"h", "v"}}};
    put(draft);
    inbox().ack(claim_one());
    put_many(20, draft);
    inbox().ack(claim());
    const WorkItemId tried = put(draft);
    inbox().abandon(claim_one(), "busy", 1ms);
    pass(5ms);
    inbox().ack(claim_one());

    const std::vector<Message> done = store().find(Queue::inbox, {.state = State::done});
    ASSERT_THAT(done, SizeIs(22));
    for (const Message& message : done) {
        EXPECT_EQ(message.payload, "p");
        EXPECT_EQ(message.content_type, "text/plain");
        EXPECT_EQ(message.headers, draft.headers);
    }
    EXPECT_EQ(find(tried)->retry_count, 1U);
    EXPECT_EQ(find(tried)->last_error, "busy");
    pass(10ms);
    EXPECT_EQ(inbox().purge(1ms), 22U);
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
}

TEST_P(InboxPurgeLaw, S003_5_2_1_WithoutHistoryADoneMessageHasItsAttemptAndErrorOnly) {
    open({.keep_history = false});
    const Draft draft{.payload = "p", .headers = {{"h", "v"}}};
    put_many(20, draft);
    inbox().ack(claim());
    const WorkItemId tried = put(draft);
    inbox().abandon(claim_one(), "busy", 1ms);
    pass(5ms);
    inbox().ack(claim_one());

    const std::vector<Message> done = store().find(Queue::inbox, {.state = State::done});
    ASSERT_THAT(done, SizeIs(21));
    for (const Message& message : done) {
        EXPECT_EQ(message.payload, "");
        EXPECT_EQ(message.content_type, "");
        EXPECT_EQ(message.headers, Headers{});
    }
    EXPECT_EQ(find(tried)->retry_count, 1U);
    EXPECT_EQ(find(tried)->last_error, "busy");
    EXPECT_TRUE(inbox().already_processed(find(tried)->key()));
}

// Nobody was handed it, so there is nothing to look up; what it had lived through stays known.
TEST_P(InboxPurgeLaw, S003_5_2_1_AMessageMarkedProcessedHasItsAttemptAndError) {
    const WorkItemId id = put({.payload = "p"});
    inbox().abandon(claim_one(), "busy", 1h);
    inbox().mark_processed(find(id)->key());
    const Message done = find(id).value();
    EXPECT_EQ(done.state, State::done);
    EXPECT_EQ(done.retry_count, 1U);
    EXPECT_EQ(done.last_error, "busy");
    EXPECT_EQ(done.payload, "");
}

TEST_P(InboxPurgeLaw, APurgedMessageIsNewAgain) {
    receive_and_ack(inbox(), me, 1);
    pass(10ms);
    EXPECT_EQ(inbox().purge(1ms), 1U);
    EXPECT_FALSE(inbox().already_processed({.source = "shop", .message_id = "done-0"}));
    EXPECT_EQ(inbox().get(MessageId("done-0"))->state, State::seen);
}

TEST_P(InboxPurgeLaw, ConcurrentPurgesRemoveEverythingOnce) {
    receive_and_ack(inbox(), me, 20);
    pass(10ms);
    std::atomic<std::uint64_t> purged = 0;
    in_parallel(4, [&](int) { purged += inbox().purge(1ms, 3); });
    purged += inbox().purge(1ms, 3);
    EXPECT_EQ(purged, 20U);
}

TEST_P(InboxPurgeLaw, AStoppedPurgeEnds) {
    receive_and_ack(inbox(), me, 3);
    pass(10ms);
    std::stop_source source;
    EXPECT_EQ(inbox().purge(
                  1ms, 1, [&](std::uint64_t) { source.request_stop(); }, source.get_token()),
              1U);
}

}  // namespace
}  // namespace postroom::test
