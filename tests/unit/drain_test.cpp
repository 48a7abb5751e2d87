#include <gtest/gtest.h>

#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"

namespace postroom::drain_test {
namespace {

using namespace std::chrono_literals;

struct DrainTest : testing::Test {
    void enqueue(const std::string& topic) {
        NewMessage message;
        message.topic = topic;
        message.payload = "{}";
        outbox.enqueue(message);
    }

    ManualClock clock;
    MemoryStore store{clock};
    Outbox outbox{store};
    Routes routes;
};

TEST_F(DrainTest, DeliversWhatIsReadyAndNothingTwice) {
    int calls = 0;
    routes.on("order.placed", [&](const Message&) { ++calls; });
    for (int i = 0; i < 120; ++i) enqueue("order.placed");
    EXPECT_EQ(drain(store, routes), 120U);
    EXPECT_EQ(drain(store, routes), 0U);
    EXPECT_EQ(calls, 120);
    EXPECT_EQ(store.counts(Queue::outbox).ready, 0U);
}

TEST_F(DrainTest, MessagesThatWereLostAreDeliveredToo) {
    int calls = 0;
    routes.on("order.placed", [&](const Message&) { ++calls; });
    for (int i = 0; i < 60; ++i) enqueue("order.placed");
    for (const std::uint32_t count : {60U, 5U}) {
        static_cast<void>(store.claim(
            Queue::outbox, {.owner = OwnerToken::generate(), .lease = 30s, .batch = count}));
        clock.advance(31s);
    }
    EXPECT_EQ(drain(store, routes), 60U);
    EXPECT_EQ(calls, 60);
}

TEST_F(DrainTest, ARetryComesWhenTheClockHasMoved) {
    int calls = 0;
    routes.on("order.placed", [&](const Message&) {
        if (++calls == 1) throw std::runtime_error("not yet");
    });
    enqueue("order.placed");
    EXPECT_EQ(drain(store, routes), 1U);
    EXPECT_EQ(drain(store, routes), 0U);
    clock.advance(2s);
    EXPECT_EQ(drain(store, routes), 1U);
    EXPECT_EQ(store.enqueued("order.placed").at(0).state, State::done);
}

TEST_F(DrainTest, AReturnedVerdictCounts) {
    int calls = 0;
    routes.on("order.placed", [&](const Message&) {
        return ++calls == 1 ? Verdict::retry("not yet", 30s) : Verdict::done();
    });
    enqueue("order.placed");
    EXPECT_EQ(drain(store, routes), 1U);
    clock.advance(29s);
    EXPECT_EQ(drain(store, routes), 0U);
    clock.advance(1s);
    EXPECT_EQ(drain(store, routes), 1U);
    EXPECT_EQ(store.enqueued("order.placed").at(0).state, State::done);
}

TEST_F(DrainTest, WhatHandlersEnqueueIsDeliveredToo) {
    routes.on("first", [&](const Message&) { enqueue("second"); });
    routes.on("second", [](const Message&) {});
    enqueue("first");
    EXPECT_EQ(drain(store, routes), 2U);
}

TEST_F(DrainTest, AMessageThatWasLostIsDeliveredAloneInTheEnd) {
    routes.on("order.placed", [](const Message&) {});
    for (int i = 0; i < 3; ++i) enqueue("order.placed");
    (void)store.claim(Queue::outbox, {.owner = OwnerToken::generate(), .lease = 1s, .batch = 2});
    clock.advance(2s);
    std::size_t calls = 0;
    for (int i = 0; i < 5; ++i) {
        calls += drain(store, routes);
        clock.advance(1s);
    }
    EXPECT_EQ(calls, 3U);
}

}  // namespace
}  // namespace postroom::drain_test
