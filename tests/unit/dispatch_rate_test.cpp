// Topics with a rate, in a dispatcher without threads: what starts when, and what becomes of the
// rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "dispatch/dispatch_core.hpp"
#include "outbox/hot_ticket.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::dispatch_rate_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::SizeIs;

class DispatchRateTest : public testing::Test {
protected:
    DispatchRateTest() {
        core->routes().on_matching(
            "slow.*", 50,
            [this](std::span<const Message> messages, HandlerContext&) {
                slow += messages.size();
                return std::vector<Verdict>(messages.size(), Verdict::done());
            },
            "there", {}, std::make_shared<SendRate>(4));
        core->routes().on("other", [this](const Message&) { ++other; });
    }
    ~DispatchRateTest() override { core->disconnect(); }

    void put(const char* topic, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            Outbox(memory).enqueue(NewMessage{.topic = topic, .payload = "p"});
        core->nudge();
    }
    // One turn of all loops; returns when the claims come again.
    Instant turn() {
        const Instant again = core->claim_step(clock.now());
        while (std::optional<Work> work = core->take(clock.now())) core->run(std::move(*work));
        clock.advance(settle_takes);
        settle_all();
        return again;
    }
    void settle_all() {
        while (!core->all_settled()) core->settle_step(clock.now(), true);
    }

    Duration settle_takes{};
    ManualClock clock;
    MemoryStore memory{clock};
    base::SystemRandom random;
    std::size_t slow = 0;
    std::size_t other = 0;
    std::shared_ptr<DispatchCore> core = std::make_shared<DispatchCore>(
        memory, DispatcherOptions{.lease = 30s, .batch = 20}, clock, random);
};

TEST_F(DispatchRateTest, WhatIsTooMuchGoesBackWithoutAnAttemptAndHoldsUpNobody) {
    put("slow.a", 10);
    put("other", 10);
    turn();
    EXPECT_EQ(slow, 1U);
    EXPECT_EQ(other, 10U);
    EXPECT_EQ(core->status().in_flight, 0U) << "no lease is held while they wait";
    const std::vector<Message> rest =
        memory.find(Queue::outbox, {.topic = "slow.a", .put_off = true});
    EXPECT_THAT(rest, SizeIs(9));
    EXPECT_THAT(rest,
                Each(AllOf(Field(&Message::retry_count, 0U), Field(&Message::lost_count, 0U))));
}

// The loops come when a turn has come, and not at the next poll, though what waits for it is due
// only some time after it was given back.
TEST_F(DispatchRateTest, EveryTurnIsUsed) {
    settle_takes = 5ms;
    put("slow.a", 6);
    put("slow.b", 6);  // of the same rate
    const Instant begin = clock.now();
    Instant again = turn();
    while (slow < 12) {
        ASSERT_GT(again, clock.now());
        ASSERT_LE(slow, 1 + static_cast<std::size_t>((clock.now() - begin) / 250ms));
        clock.set(again);
        again = turn();
        ASSERT_LT(clock.now(), begin + 1min);
    }
    // Eleven turns of 250 ms; a claim may come up to a gap of 100 ms late.
    EXPECT_LE(clock.now() - begin, 11 * 250ms + 11 * 100ms);
}

TEST_F(DispatchRateTest, ABatchIsNoLargerThanTheRateAllows) {
    std::size_t largest = 0;
    core->routes().on_matching(
        "fast.*", 50,
        [&](std::span<const Message> messages, HandlerContext&) {
            largest = std::max(largest, messages.size());
            return std::vector<Verdict>(messages.size(), Verdict::done());
        },
        "", {}, std::make_shared<SendRate>(40));
    put("fast.a", 20);
    turn();
    EXPECT_EQ(largest, 10U);
}

TEST_F(DispatchRateTest, AMessageThatIsHandedOverWaitsForItsTurnToo) {
    const NewMessage message{.topic = "slow.a", .payload = "p", .message_id = MessageId("hot")};
    const BornLease born = core->reserve(std::span(&message, 1)).value();
    const EnqueueResult result = memory.enqueue(nullptr, std::span(&message, 1), &born).at(0);
    put("slow.a", 1);
    turn();  // another one takes the turn
    EXPECT_FALSE(core->reserve(std::span(&message, 1)));
    core->hand_over(born, {as_stored(message, result, born, clock.now())}, true);
    EXPECT_FALSE(core->take(clock.now()));
    settle_all();
    EXPECT_EQ(core->status().in_flight, 0U);
    clock.advance(250ms);
    turn();
    EXPECT_EQ(slow, 2U);
}

TEST_F(DispatchRateTest, ClosingWaitsForNoTurn) {
    put("slow.a", 10);
    turn();
    core->begin_close();
    settle_all();
    EXPECT_TRUE(core->drained());
    EXPECT_TRUE(core->idle());
}

TEST_F(DispatchRateTest, ATopicOfTheOptionsHasItsOwn) {
    core->disconnect();
    core = std::make_shared<DispatchCore>(
        memory, DispatcherOptions{.topics = {{"other", {.rate = std::make_shared<SendRate>(1)}}}},
        clock, random);
    core->routes().on("other", [this](const Message&) { ++other; });
    put("other", 3);
    turn();
    EXPECT_EQ(other, 1U);
}

}  // namespace
}  // namespace postroom::dispatch_rate_test
