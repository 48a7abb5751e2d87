// History: delivered messages are kept for a while, their keys for another.
#include <atomic>
#include <stop_token>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

std::vector<Message> done(Store& store) {
    return store.find(Queue::outbox, {.state = State::done});
}

// Where history is kept by days, those that are over go at once, whatever the batch: what is to go
// in batches must not have been delivered before a midnight that comes in the midst of a test.
void await_midnight_if_near(Sandbox& sandbox) {
    const auto day = [](Instant at) { return std::chrono::floor<std::chrono::days>(at); };
    const auto near = [&] {
        return day(sandbox.store().now()) != day(sandbox.store().now() + 30s);
    };
    while (near()) sandbox.pass(1s);
}

TEST_P(HistoryLaw, OBX_030_DeliveredMessagesAreKept) {
    const WorkItemId id = put();
    outbox().ack(leases_of(claim_one()));
    ASSERT_THAT(done(store()), SizeIs(1));
    EXPECT_EQ(get(id).state, State::done);
    EXPECT_EQ(get(id).payload, "{}");
}

TEST_P(HistoryLaw, WithoutHistoryAnAckRemovesTheMessage) {
    open({.keep_history = false});
    const WorkItemId id = put();
    EXPECT_THAT(outbox().ack(leases_of(claim_one())), testing::ElementsAre(Settled::done));
    EXPECT_THAT(done(store()), IsEmpty());
    EXPECT_FALSE(outbox().get(id).has_value());
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(HistoryLaw, WithoutHistoryAReplayIsStillADuplicate) {
    open({.keep_history = false});
    outbox().enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"});
    outbox().ack(leases_of(claim_one()));
    EXPECT_TRUE(
        outbox().enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"}).already_existed);
}

TEST_P(HistoryLaw, PurgeRemovesOnlyWhatIsOldEnough) {
    while (true) {
        put_many(2);
        outbox().ack(leases_of(claim()));
        pass(600ms);
        const Instant fresh = now();
        put();
        outbox().ack(leases_of(claim()));
        EXPECT_EQ(outbox().purge(1h), 0U);
        const std::uint64_t purged = outbox().purge(500ms);
        if (now() < fresh + 500ms) {
            EXPECT_EQ(purged, 2U);
            EXPECT_THAT(done(store()), SizeIs(1));
            return;
        }
        // The machine stood still, and all three are old: that tells nothing.
        pass(600ms);
        outbox().purge(500ms);
    }
}

TEST_P(HistoryLaw, PurgeLeavesWhatIsNotDelivered) {
    put_many(4);
    const std::vector<Message> claimed = claim(3);
    ASSERT_THAT(claimed, SizeIs(3));
    outbox().fail(leases_of(claimed[0]), "x");
    outbox().abandon(leases_of(claimed[1]), "x", 1h);
    pass(10ms);
    EXPECT_EQ(outbox().purge(1ms), 0U);
    EXPECT_THAT(store().find(Queue::outbox, {}), SizeIs(4));
}

TEST_P(HistoryLaw, PurgeWorksInBatchesAndTellsItsProgress) {
    await_midnight_if_near(sandbox());
    put_many(25);
    outbox().ack(leases_of(claim()));
    pass(10ms);
    std::vector<std::uint64_t> progress;
    EXPECT_EQ(outbox().purge(1ms, 10, [&](std::uint64_t total) { progress.push_back(total); }),
              25U);
    ASSERT_GE(progress.size(), 3U);
    EXPECT_EQ(progress[0], 10U);
    EXPECT_EQ(progress[1], 20U);
    EXPECT_EQ(progress.back(), 25U);
    EXPECT_THAT(done(store()), IsEmpty());
}

TEST_P(HistoryLaw, OneBatchOfAPurgeTakesNoMoreThanAsked) {
    await_midnight_if_near(sandbox());
    put_many(5);
    outbox().ack(leases_of(claim()));
    pass(10ms);
    const PurgeResult first = store().purge(Queue::outbox, {.older_than = 1ms, .batch = 3});
    EXPECT_EQ(first.purged, 3U);
    EXPECT_TRUE(first.more);
    EXPECT_FALSE(first.busy);
    const PurgeResult second = store().purge(Queue::outbox, {.older_than = 1ms, .batch = 3});
    EXPECT_EQ(second.purged, 2U);
    EXPECT_FALSE(second.more);
}

TEST_P(HistoryLaw, AStoppedPurgeEnds) {
    await_midnight_if_near(sandbox());
    put_many(5);
    outbox().ack(leases_of(claim()));
    pass(10ms);
    std::stop_source source;
    const std::uint64_t purged = outbox().purge(
        1ms, 1, [&](std::uint64_t) { source.request_stop(); }, source.get_token());
    EXPECT_EQ(purged, 1U);
    EXPECT_THAT(done(store()), SizeIs(4));
}

TEST_P(HistoryLaw, AKeyOutlivesThePurgeOfItsMessage) {
    outbox().enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"});
    outbox().ack(leases_of(claim_one()));
    pass(10ms);
    EXPECT_EQ(outbox().purge(1ms), 1U);
    EXPECT_THAT(done(store()), IsEmpty());
    EXPECT_TRUE(
        outbox().enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"}).already_existed);
}

TEST_P(HistoryLaw, AKeyPastItsWindowIsFreeAgainAfterAPurge) {
    open({.dedupe_window = 20ms});
    outbox().enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"});
    outbox().ack(leases_of(claim_one()));
    pass(40ms);
    EXPECT_EQ(outbox().purge(1h), 1U);
    EXPECT_FALSE(
        outbox().enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"}).already_existed);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(HistoryLaw, ConcurrentPurgesRemoveEverythingOnce) {
    put_many(60);
    outbox().ack(leases_of(claim()));
    pass(10ms);
    std::atomic<std::uint64_t> purged = 0;
    in_parallel(4, [&](int) { purged += outbox().purge(1ms, 7); });
    purged += outbox().purge(1ms, 7);
    EXPECT_EQ(purged, 60U);
    EXPECT_THAT(done(store()), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
