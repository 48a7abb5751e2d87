#include "dispatch/dispatch_queues.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace postroom::dispatch_queues_test {
namespace {

using testing::SizeIs;

Message message(const std::string& topic) {
    Message out;
    out.topic = topic;
    return out;
}

TEST(DispatchQueues, TwoHotOnesGoForEachColdOne) {
    DispatchQueues queues(100, 100);
    ASSERT_TRUE(queues.reserve_hot(6));
    for (int i = 0; i < 6; ++i) queues.push_hot(message("h"));
    for (int i = 0; i < 4; ++i) queues.push_cold(message("c"));
    std::string order;
    while (auto queued = queues.pop()) order += queued->message.topic;
    EXPECT_EQ(order, "hhchhchhcc");
}

TEST(DispatchQueues, RoomIsTakenBeforeAndGivenBackAfter) {
    DispatchQueues queues(3, 1);
    EXPECT_TRUE(queues.reserve_hot(2));
    EXPECT_FALSE(queues.reserve_hot(2));
    EXPECT_TRUE(queues.reserve_hot(1));
    queues.push_hot(message("a"));
    EXPECT_FALSE(queues.reserve_hot(1));
    queues.give_back_hot(2);
    EXPECT_TRUE(queues.reserve_hot(2));
}

TEST(DispatchQueues, ColdBytesAreThoseOfWhatWaits) {
    DispatchQueues queues(3, 3);
    Message heavy = message("h");
    heavy.payload = "12345";
    heavy.headers = {{"name", "value"}};
    queues.push_cold(Message(heavy));
    queues.push_cold(Message(heavy));
    EXPECT_EQ(queues.cold_bytes(), 28U);
    queues.park(*queues.pop());
    EXPECT_EQ(queues.cold_bytes(), 28U);
    EXPECT_TRUE(queues.pop());
    EXPECT_EQ(queues.cold_bytes(), 14U);
    EXPECT_THAT(queues.drain(), SizeIs(1));
    EXPECT_EQ(queues.cold_bytes(), 0U);
}

TEST(DispatchQueues, TheHotQueueCanBeLeftAlone) {
    DispatchQueues queues(10, 10);
    queues.reserve_hot(1);
    queues.push_hot(message("h"));
    EXPECT_FALSE(queues.pop(true).has_value());
    queues.push_cold(message("c"));
    EXPECT_EQ(queues.cold_room(), 9U);
    EXPECT_EQ(queues.pop(true)->message.topic, "c");
    EXPECT_THAT(queues.drain(), SizeIs(1));
}

TEST(DispatchQueues, TheFrontCanBeLookedAt) {
    DispatchQueues queues(10, 10);
    EXPECT_EQ(queues.front(Path::cold), nullptr);
    queues.push_cold(message("a"));
    queues.push_cold(message("b"));
    EXPECT_EQ(queues.front(Path::cold)->topic, "a");
    EXPECT_EQ(queues.front(Path::hot), nullptr);
    EXPECT_EQ(queues.pop_from(Path::cold)->message.topic, "a");
    EXPECT_EQ(queues.pop_from(Path::cold)->message.topic, "b");
    EXPECT_FALSE(queues.pop_from(Path::cold).has_value());
}

TEST(DispatchQueues, AParkedMessageLetsOthersPassAndKeepsItsPlaceInTheBounds) {
    DispatchQueues queues(2, 3);
    ASSERT_TRUE(queues.reserve_hot(1));
    queues.push_hot(message("hot"));
    queues.push_cold(message("a"));
    queues.push_cold(message("b"));
    queues.park(*queues.pop_from(Path::hot));
    queues.park(*queues.pop_from(Path::cold));
    EXPECT_EQ(queues.hot_size(), 1U);
    EXPECT_EQ(queues.cold_size(), 2U);
    EXPECT_EQ(queues.cold_ready(), 1U);
    EXPECT_EQ(queues.cold_room(), 1U);
    EXPECT_FALSE(queues.reserve_hot(2));
    EXPECT_EQ(queues.pop()->message.topic, "b");
    EXPECT_FALSE(queues.pop().has_value());
    const std::optional<QueuedMessage> first = queues.pop_parked();
    EXPECT_EQ(first->message.topic, "hot");
    EXPECT_EQ(first->path, Path::hot);
    EXPECT_EQ(queues.hot_size(), 0U);
    EXPECT_THAT(queues.drain(), SizeIs(1));
    EXPECT_EQ(queues.cold_size(), 0U);
    EXPECT_FALSE(queues.pop_parked().has_value());
}

}  // namespace
}  // namespace postroom::dispatch_queues_test
