// Priority: above the default goes first, below it goes last, and nobody starves: every fourth
// claim goes by age.
//
// Where a backend's count of claims stands is its own affair, so these laws look at four claims in
// a row.
#include <algorithm>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

std::size_t count_topic(const std::vector<Message>& messages, const std::string& topic) {
    return static_cast<std::size_t>(std::count_if(
        messages.begin(), messages.end(), [&](const Message& m) { return m.topic == topic; }));
}

TEST_P(PriorityLaw, UrgentMessagesGoFirst) {
    put_many(40);
    put_many(10, {.topic = "urgent", .priority = 5});
    std::size_t urgent = 0;
    for (int i = 0; i < 4; ++i) urgent += count_topic(claim(2), "urgent");
    EXPECT_GE(urgent, 6U);
}

TEST_P(PriorityLaw, OrdinaryMessagesAreNotStarvedByUrgentOnes) {
    put_many(8, {.topic = "ordinary"});
    put_many(40, {.priority = 5});
    std::size_t ordinary = 0;
    for (int i = 0; i < 4; ++i) ordinary += count_topic(claim(2), "ordinary");
    EXPECT_GE(ordinary, 1U);
    EXPECT_LE(ordinary, 2U);
}

// Method: three messages and a claim of two; one claim in four may go by age instead.
TEST_P(PriorityLaw, TheMostUrgentComesFirst) {
    int by_priority = 0;
    for (int round = 0; round < 4; ++round) {
        const WorkItemId low = put({.priority = 1});
        put({.priority = 9});
        put({.priority = 5});
        const std::vector<Message> first = claim(2);
        ASSERT_THAT(first, SizeIs(2));
        if (first[0].id != low && first[1].id != low) ++by_priority;
        ASSERT_THAT(claim(), SizeIs(1));
    }
    EXPECT_GE(by_priority, 2);
}

TEST_P(PriorityLaw, LowPriorityGoesLastAndIsNotStarved) {
    put_many(10, {.topic = "low", .priority = -1});
    put_many(40, {.topic = "ordinary"});
    std::size_t low = 0;
    for (int i = 0; i < 4; ++i) low += count_topic(claim(4), "low");
    EXPECT_LE(low, 4U);
    EXPECT_GE(low, 1U);
}

TEST_P(PriorityLaw, LowPriorityFillsWhatIsLeftOfABatch) {
    put_many(3, {.topic = "low", .priority = -7});
    put_many(2);
    const std::vector<Message> claimed = claim(10);
    EXPECT_THAT(claimed, SizeIs(5));
    EXPECT_EQ(count_topic(claimed, "low"), 3U);
}

TEST_P(PriorityLaw, PriorityIsKeptThroughARetry) {
    const WorkItemId high = put({.priority = 7});
    const WorkItemId low = put({.priority = -7});
    work().abandon(leases_of(claim()), "x", 1ms);
    EXPECT_EQ(get(high).priority, 7);
    EXPECT_EQ(get(low).priority, -7);
    pass(5ms);
    EXPECT_THAT(claim(), SizeIs(2));
}

// Neither a stream of fresh messages nor a heap of retries may keep the other from being claimed.
TEST_P(PriorityLaw, FreshAndRetryingMessagesShareTheClaims) {
    put_retrying_and_fresh(20, 20);
    std::size_t fresh = 0;
    std::size_t retrying = 0;
    for (const Message& message : claim(20)) ++(message.topic == "fresh" ? fresh : retrying);
    EXPECT_GE(fresh, 8U);
    EXPECT_GE(retrying, 8U);
}

TEST_P(PriorityLaw, BatchesOfOneStarveNeitherFreshNorRetryingMessages) {
    put_retrying_and_fresh(8, 8);
    std::size_t fresh = 0;
    for (int i = 0; i < 8; ++i) fresh += claim_one().topic == "fresh" ? 1 : 0;
    EXPECT_GE(fresh, 2U);
    EXPECT_LE(fresh, 6U);
}

TEST_P(PriorityLaw, AClaimIsFilledByWhateverIsThere) {
    put_retrying_and_fresh(10, 2);
    EXPECT_THAT(claim(12), SizeIs(12));
}

}  // namespace
}  // namespace postroom::test
