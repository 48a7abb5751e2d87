// What operators do, through the library: messages that workers hold, and the inbox.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "postroom/open_store.hpp"
#include "postroom/operator.hpp"
#include "postroom/outbox.hpp"
#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::controls_test {
namespace {

using namespace std::chrono_literals;

class ControlsOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        store = open_store(url(), {.deploy_schema = true});
        desk = controls_of(*store);
        ASSERT_NE(desk, nullptr);
    }

    Message claim_one(Queue queue, Duration lease) const {
        const std::vector<Message> claimed =
            store->claim(queue, {.owner = OwnerToken::generate(), .lease = lease, .batch = 1});
        EXPECT_EQ(claimed.size(), 1U);
        return claimed.empty() ? Message{} : claimed.front();
    }

    std::unique_ptr<Store> store;
    StoreControls* desk = nullptr;
};

TEST_P(ControlsOn, WhatAWorkerHoldsIsNotDiscardedUntilItsLeaseIsOver) {
    const WorkItemId id = Outbox(*store).enqueue({.topic = TopicName("a"), .payload = "1"}).id;
    const Message held = claim_one(Queue::outbox, 1h);
    EXPECT_EQ(desk->discard(Queue::outbox, std::vector{id}), 0U);
    const std::vector<Settlement> back{{.lease = *held.lease, .outcome = Outcome::release}};
    ASSERT_EQ(store->settle(nullptr, Queue::outbox, back).front(), Settled::ready);

    const Message late = claim_one(Queue::outbox, 1ms);
    EXPECT_TRUE(
        wait_until([&] { return desk->discard(Queue::outbox, std::vector{id}) == 1; }, 60s, 5ms));
    const std::vector<Settlement> ack{{.lease = *late.lease, .outcome = Outcome::ack}};
    EXPECT_EQ(store->settle(nullptr, Queue::outbox, ack).front(), Settled::lost);
    const std::vector<Message> found = store->find(Queue::outbox, {.ids = {id}});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(was_discarded(found.front()));
    EXPECT_EQ(desk->discard(Queue::outbox, std::vector{id}), 0U) << "once is enough";
}

// More than one statement takes at a time, in another order than their numbers, and some are held.
TEST_P(ControlsOn, ManyAreDiscardedWhereverTheyAre) {
    constexpr std::size_t count = 450;
    std::vector<NewMessage> messages(count, {.topic = TopicName("a"), .payload = "1"});
    for (std::size_t i = 0; i < count; i += 2) messages[i].due_time = store->now() + 1h;
    std::vector<WorkItemId> ids;
    for (const EnqueueResult& result : Outbox(*store).enqueue_all(messages))
        ids.push_back(result.id);
    const Message held = claim_one(Queue::outbox, 1h);
    std::reverse(ids.begin(), ids.end());
    EXPECT_EQ(desk->discard(Queue::outbox, ids), count - 1);
    const Counts counts = store->counts(Queue::outbox);
    EXPECT_EQ(counts.ready, 0U);
    EXPECT_EQ(counts.in_progress, 1U);
}

TEST_P(ControlsOn, AnInboxRemembersWhatWasDiscarded) {
    const std::vector<ReceivedMessage> messages{
        {.topic = TopicName("a"), .source = "s", .message_id = "1", .payload = "x"},
        {.topic = TopicName("a"), .source = "s", .message_id = "2", .payload = "y"}};
    const std::vector<ReceiveResult> received = store->receive(nullptr, messages);
    const Message doomed = claim_one(Queue::inbox, 1h);
    const std::vector<Settlement> fail{{.lease = *doomed.lease, .outcome = Outcome::fail}};
    ASSERT_EQ(store->settle(nullptr, Queue::inbox, fail).front(), Settled::dead);
    EXPECT_EQ(desk->discard(Queue::inbox, std::vector{received[0].id, received[1].id}), 2U);
    const Counts counts = store->counts(Queue::inbox);
    EXPECT_EQ(counts.ready + counts.in_progress + counts.dead, 0U);
    for (const ReceiveResult& again : store->receive(nullptr, messages))
        EXPECT_EQ(again.previous, State::done);
    EXPECT_EQ(store->counts(Queue::inbox).ready, 0U);
}

TEST_P(ControlsOn, WithoutHistoryNothingIsLeft) {
    store = open_store(url(), {.keep_history = false});
    const WorkItemId id = Outbox(*store).enqueue({.topic = TopicName("a"), .payload = "1"}).id;
    EXPECT_EQ(controls_of(*store)->discard(Queue::outbox, std::vector{id}), 1U);
    EXPECT_TRUE(store->find(Queue::outbox, {.ids = {id}}).empty());
}

POSTROOM_ON_ALL_DATABASES(ControlsOn);

}  // namespace
}  // namespace postroom::test::controls_test
