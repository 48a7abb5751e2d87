// The inbox side of the reference store: what becomes of a message that is received, seen, marked,
// again and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/testing.hpp"

namespace postroom::memory_store_inbox_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class MemoryInboxTest : public testing::Test {
protected:
    static ReceivedMessage message(const std::string& payload) {
        return {.topic = "t", .source = "s", .message_id = "m", .payload = payload};
    }

    static ReceivedMessage hashed(const std::string& payload, const std::string& hash) {
        ReceivedMessage one = message(payload);
        one.hash = hash;
        return one;
    }

    ReceiveResult receive(const ReceivedMessage& message, bool revive = false,
                          TxContext* tx = nullptr) {
        return store.receive(tx, std::span{&message, 1}, revive).at(0);
    }

    std::vector<Message> claim() { return store.claim(Queue::inbox, {.owner = owner}); }

    Settled settle(const Message& message, Outcome outcome, TxContext* tx = nullptr) {
        const Settlement settlement{
            .lease = message.lease.value(), .outcome = outcome, .error = "boom"};
        return store.settle(tx, Queue::inbox, std::span{&settlement, 1}).at(0);
    }

    Message stored() {
        Query query;
        query.source = key.source;
        query.message_id = key.message_id;
        const auto found = store.find(Queue::inbox, query);
        EXPECT_EQ(found.size(), 1u);
        return found.at(0);
    }

    const InboxKey key{.source = "s", .message_id = "m"};
    const OwnerToken owner = OwnerToken::generate();
    ManualClock clock;
    MemoryStore store{clock, {.statement_timeout = 50ms}, 1};
};

TEST_F(MemoryInboxTest, AReceivedMessageIsClaimedAndAckedAndStaysDone) {
    const Instant first_seen = clock.now();
    const ReceiveResult result = receive(message("a"));
    EXPECT_EQ(result.previous, std::nullopt);
    const auto claimed = claim();
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].id, result.id);
    EXPECT_EQ(claimed[0].payload, "a");
    EXPECT_EQ(settle(claimed[0], Outcome::ack), Settled::done);

    clock.advance(1s);
    const ReceiveResult again = receive(message("b"));
    EXPECT_EQ(again.previous, State::done);
    EXPECT_EQ(again.id, WorkItemId{});
    EXPECT_THAT(claim(), IsEmpty());
    const Message done = stored();
    EXPECT_EQ(done.state, State::done);
    EXPECT_EQ(done.payload, "a");
    EXPECT_EQ(done.processed_by, owner.to_string());
    EXPECT_EQ(done.created_at, first_seen);
    EXPECT_EQ(done.last_seen, clock.now());
}

TEST_F(MemoryInboxTest, AReadyMessageTakesNewContentAndKeepsItsId) {
    const WorkItemId id = receive(message("a")).id;
    clock.advance(1s);
    const ReceiveResult again = receive(message("b"));
    EXPECT_EQ(again.previous, State::ready);
    EXPECT_EQ(again.id, id);
    const auto claimed = claim();
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].payload, "b");
    EXPECT_EQ(claimed[0].created_at, clock.now() - 1s);
    EXPECT_EQ(claimed[0].last_seen, clock.now());
}

TEST_F(MemoryInboxTest, ANewDueTimeDefersAndItsAbsenceMakesAvailableAtOnce) {
    ReceivedMessage deferred = message("a");
    receive(deferred);
    deferred.due_time = clock.now() + 1h;
    receive(deferred);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(stored().available_at, clock.now() + 1h);
    receive(message("a"));
    EXPECT_EQ(claim().size(), 1u);
}

TEST_F(MemoryInboxTest, LeasedContentIsLeftAlone) {
    receive(hashed("a", "1"));
    const Message claimed = claim().at(0);
    const ReceiveResult again = receive(hashed("b", "2"));
    EXPECT_EQ(again.previous, State::in_progress);
    EXPECT_EQ(again.id, claimed.id);
    EXPECT_TRUE(again.hash_mismatch);
    EXPECT_EQ(stored().payload, "a");
    EXPECT_EQ(stored().hash, "1");
    EXPECT_EQ(settle(claimed, Outcome::ack), Settled::done);
}

TEST_F(MemoryInboxTest, ADeadMessageTakesNewContentButRisesOnlyWhenRevived) {
    receive(message("a"));
    EXPECT_EQ(settle(claim().at(0), Outcome::fail), Settled::dead);
    EXPECT_EQ(receive(message("b")).previous, State::dead);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(stored().payload, "b");
    EXPECT_EQ(stored().last_error, "boom");

    EXPECT_EQ(receive(message("c"), true).previous, State::dead);
    const auto claimed = claim();
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].payload, "c");
    EXPECT_EQ(claimed[0].retry_count, 0u);
    EXPECT_EQ(claimed[0].last_error, "");
}

TEST_F(MemoryInboxTest, HashesAreStoredOnceAndComparedAfterwards) {
    EXPECT_FALSE(store.see(nullptr, key, std::nullopt).hash_mismatch);
    EXPECT_FALSE(store.see(nullptr, key, "1").hash_mismatch);
    EXPECT_TRUE(store.see(nullptr, key, "2").hash_mismatch);
    EXPECT_FALSE(store.see(nullptr, key, "1").hash_mismatch);
    EXPECT_FALSE(store.see(nullptr, key, std::nullopt).hash_mismatch);
    EXPECT_TRUE(receive(hashed("a", "3")).hash_mismatch);
    EXPECT_EQ(stored().hash, "3");
    settle(claim().at(0), Outcome::ack);
    EXPECT_TRUE(receive(hashed("a", "4")).hash_mismatch);
    EXPECT_EQ(stored().hash, "3");
}

TEST_F(MemoryInboxTest, ASeenMessageIsKnownButNotClaimable) {
    EXPECT_EQ(store.see(nullptr, key, std::nullopt).previous, std::nullopt);
    EXPECT_EQ(store.see(nullptr, key, std::nullopt).previous, State::seen);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(stored().state, State::seen);
    EXPECT_EQ(stored().id, WorkItemId{});
    EXPECT_EQ(store.counts(Queue::inbox).seen, 1u);
    EXPECT_EQ(receive(message("a")).previous, State::seen);
    EXPECT_EQ(claim().size(), 1u);
}

TEST_F(MemoryInboxTest, KeysCompareByteByByte) {
    const auto named = [](const char* source, const char* message_id) {
        return InboxKey{.source = source, .message_id = message_id};
    };
    store.see(nullptr, named("s", "m"), std::nullopt);
    for (const InboxKey& other :
         {named("S", "m"), named("s", "M"), named("s", "m "), named("s ", "m")})
        EXPECT_EQ(store.see(nullptr, other, std::nullopt).previous, std::nullopt);
}

TEST_F(MemoryInboxTest, MarkingAnUnknownMessageTellsSo) {
    EXPECT_EQ(store.mark(nullptr, key, State::done, ""), std::nullopt);
    EXPECT_THROW(store.mark(nullptr, key, State::seen, ""), std::invalid_argument);
}

TEST_F(MemoryInboxTest, MarkedReadyWithoutContentIsNobodysWorkUntilItIsReceived) {
    store.see(nullptr, key, std::nullopt);
    EXPECT_EQ(store.mark(nullptr, key, State::ready, ""), State::seen);
    EXPECT_EQ(stored().state, State::ready);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(store.counts(Queue::inbox).ready, 0u);
    EXPECT_EQ(receive(message("a")).previous, State::ready);
    EXPECT_EQ(claim().size(), 1u);
}

TEST_F(MemoryInboxTest, MarkedDoneLosesContentAndLease) {
    receive(message("a"));
    const Message claimed = claim().at(0);
    EXPECT_EQ(store.mark(nullptr, key, State::done, ""), State::in_progress);
    EXPECT_EQ(settle(claimed, Outcome::fail), Settled::lost);
    EXPECT_EQ(stored().state, State::done);
    EXPECT_EQ(stored().processed_at, clock.now());
    EXPECT_EQ(store.mark(nullptr, key, State::dead, "x"), State::done);
    EXPECT_EQ(stored().state, State::done);
}

TEST_F(MemoryInboxTest, MarkedDeadKeepsContentAndErrorAndComesBackByMarkOrRedrive) {
    const WorkItemId id = receive(message("a")).id;
    const Message claimed = claim().at(0);
    EXPECT_EQ(store.mark(nullptr, key, State::dead, "broken"), State::in_progress);
    EXPECT_EQ(settle(claimed, Outcome::ack), Settled::lost);
    EXPECT_EQ(stored().state, State::dead);
    EXPECT_EQ(stored().last_error, "broken");
    EXPECT_EQ(store.mark(nullptr, key, State::ready, ""), State::dead);
    EXPECT_EQ(claim().size(), 1u);
    store.mark(nullptr, key, State::dead, "broken");
    EXPECT_EQ(store.redrive(Queue::inbox, std::vector{id}), 1u);
    EXPECT_EQ(claim().at(0).payload, "a");
}

TEST_F(MemoryInboxTest, ContentForAKeyThatIsDeadIsStoredDead) {
    store.see(nullptr, key, std::nullopt);
    store.mark(nullptr, key, State::dead, "broken");
    EXPECT_EQ(stored().state, State::dead);
    const ReceiveResult result = receive(message("a"));
    EXPECT_EQ(result.previous, State::dead);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(stored().id, result.id);
    EXPECT_EQ(stored().last_error, "broken");
    receive(message("a"), true);
    EXPECT_EQ(claim().size(), 1u);
}

TEST_F(MemoryInboxTest, PurgeGoesByLastSeenAndTakesOnlyDoneOnes) {
    receive(message("a"));
    settle(claim().at(0), Outcome::ack);
    store.see(nullptr, {.source = "s", .message_id = "other"}, std::nullopt);
    clock.advance(24h);
    store.see(nullptr, key, std::nullopt);
    EXPECT_EQ(store.purge(Queue::inbox, {.older_than = 24h}).purged, 0u);
    clock.advance(24h);
    EXPECT_EQ(store.purge(Queue::inbox, {.older_than = 24h}).purged, 1u);
    EXPECT_EQ(receive(message("a")).previous, std::nullopt);
}

TEST_F(MemoryInboxTest, SeeingAndMarkingInATransactionTakesEffectAtItsCommitOnly) {
    {
        const auto tx = store.begin();
        EXPECT_EQ(store.see(tx.get(), key, "1").previous, std::nullopt);
        EXPECT_EQ(store.mark(tx.get(), key, State::done, ""), State::seen);
        EXPECT_EQ(store.see(tx.get(), key, "1").previous, State::done);
        EXPECT_THAT(store.find(Queue::inbox, {}), IsEmpty());
        EXPECT_THROW(store.see(nullptr, key, "1"), Error);
    }
    EXPECT_EQ(store.see(nullptr, key, "1").previous, std::nullopt);
    const auto tx = store.begin();
    store.mark(tx.get(), key, State::done, "");
    tx->commit();
    EXPECT_EQ(stored().state, State::done);
}

TEST_F(MemoryInboxTest, AMessageAckedElsewhereMakesTheTransactionThatMarksItConflict) {
    receive(message("a"));
    const Message claimed = claim().at(0);
    const auto tx = store.begin();
    EXPECT_EQ(store.mark(tx.get(), key, State::dead, "x"), State::in_progress);
    EXPECT_EQ(settle(claimed, Outcome::ack), Settled::done);
    EXPECT_THROW(tx->commit(), Error);
    EXPECT_EQ(stored().state, State::done);
}

}  // namespace
}  // namespace postroom::memory_store_inbox_test
