#include "dispatch/isolation.hpp"

#include <gtest/gtest.h>

namespace postroom::isolation_test {
namespace {

using namespace std::chrono_literals;

Message lost(std::uint32_t times, std::uint64_t seq = 1) {
    Message message;
    message.id = WorkItemId(seq, 1);
    message.lost_count = times;
    return message;
}

struct IsolationTest : testing::Test {
    Isolation isolation{{.slots = 2, .crash_limit = 3, .lease = 30s}};
    Instant now{1000s};
};

TEST_F(IsolationTest, CareGrowsWithTheLosses) {
    EXPECT_EQ(isolation.care(lost(0)), Care::usual);
    EXPECT_EQ(isolation.care(lost(1)), Care::suspect);
    EXPECT_EQ(isolation.care(lost(2)), Care::isolated);
    EXPECT_EQ(isolation.care(lost(9)), Care::isolated);
}

TEST_F(IsolationTest, ALossThatWouldBeTheLastIsNeverRiskedInCompany) {
    const Isolation strict({.slots = 2, .crash_limit = 1, .lease = 30s});
    EXPECT_EQ(strict.care(lost(0)), Care::usual);
    EXPECT_EQ(strict.care(lost(1)), Care::isolated);
}

TEST_F(IsolationTest, SuspectsTakeSlotsAndTheOthersAreSentBack) {
    isolation.claimed(false);
    EXPECT_FALSE(isolation.admit(lost(1), now));
    EXPECT_FALSE(isolation.admit(lost(1), now));
    EXPECT_TRUE(isolation.admit(lost(1), now));
    EXPECT_FALSE(isolation.admit(lost(0), now)) << "no business of theirs";
    EXPECT_TRUE(isolation.free_slot(now));
    EXPECT_FALSE(isolation.admit(lost(1), now));
}

TEST_F(IsolationTest, ThoseSentBackComeAsSlotsBecomeFree) {
    isolation.claimed(false);
    isolation.admit(lost(1), now);
    isolation.admit(lost(1), now);
    now += 120ms;  // none was free in this time: two slots, at best now
    EXPECT_EQ(isolation.admit(lost(1), now), 60ms);
    isolation.free_slot(now);
    isolation.admit(lost(1), now);  // three slots
    EXPECT_EQ(isolation.admit(lost(1), now), 100ms);
    EXPECT_EQ(isolation.admit(lost(1), now), 140ms);
}

TEST_F(IsolationTest, NobodyIsSentBackForMoreThanATenthOfALease) {
    isolation.claimed(false);
    isolation.admit(lost(1), now);
    isolation.admit(lost(1), now);
    now += 4s;
    EXPECT_EQ(isolation.admit(lost(1), now), 2s);
    EXPECT_EQ(isolation.admit(lost(1), now), 3s);
    EXPECT_EQ(isolation.admit(lost(1), now), 3s);
}

TEST_F(IsolationTest, AnIsolatedMessageIsNotKeptWhileOthersRun) {
    isolation.claimed(false);
    EXPECT_EQ(isolation.admit(lost(2), now), Duration::zero());
    EXPECT_TRUE(isolation.draining());
    EXPECT_FALSE(isolation.holds_one());
}

TEST_F(IsolationTest, InQuietItIsKeptAndTheRestOfTheClaimIsSentBack) {
    isolation.claimed(false);
    isolation.admit(lost(2), now);
    isolation.claimed(true);
    EXPECT_FALSE(isolation.draining());
    EXPECT_FALSE(isolation.admit(lost(2), now));
    isolation.hold(lost(2));
    EXPECT_EQ(isolation.admit(lost(2, 2), now), Duration::zero());
    EXPECT_EQ(isolation.admit(lost(0), now), Duration::zero());
    EXPECT_EQ(isolation.start(now).lost_count, 2U);
    EXPECT_TRUE(isolation.running());
    EXPECT_TRUE(isolation.finished(lost(2).id, now));
    EXPECT_FALSE(isolation.active());
}

TEST_F(IsolationTest, OthersGetAsMuchTimeAsAnIsolatedMessageTook) {
    isolation.claimed(true);
    isolation.admit(lost(2), now);
    isolation.hold(lost(2));
    isolation.start(now);
    now += 5s;
    ASSERT_TRUE(isolation.finished(lost(2).id, now));
    isolation.claimed(false);
    EXPECT_FALSE(isolation.admit(lost(0), now));
    EXPECT_EQ(isolation.admit(lost(2, 2), now), 5s);
    EXPECT_FALSE(isolation.active());
    now += 5s;
    EXPECT_EQ(isolation.admit(lost(2, 2), now), Duration::zero());
    EXPECT_TRUE(isolation.draining());
}

TEST_F(IsolationTest, SomebodyElseTookItAndTheOthersGoOn) {
    isolation.claimed(false);
    isolation.admit(lost(2), now);
    isolation.claimed(true);
    EXPECT_FALSE(isolation.active());
    EXPECT_FALSE(isolation.admit(lost(0), now));
}

TEST_F(IsolationTest, DrainingInVainEndsAfterALeaseAndIsNotTriedAgainAtOnce) {
    isolation.claimed(false);
    isolation.admit(lost(2), now);
    EXPECT_FALSE(isolation.overdue(now + 29s));
    now += 30s;
    ASSERT_TRUE(isolation.overdue(now));
    EXPECT_FALSE(isolation.give_up(now));
    EXPECT_FALSE(isolation.active());
    isolation.claimed(false);
    EXPECT_EQ(isolation.admit(lost(2), now + 10s), 20s);
    EXPECT_FALSE(isolation.active());
}

TEST_F(IsolationTest, EachDrainInVainMakesTheNextOneWaitTwiceAsLong) {
    const auto drain_in_vain = [&] {
        isolation.claimed(false);
        EXPECT_EQ(isolation.admit(lost(2), now), Duration::zero());
        EXPECT_EQ(isolation.ends_by(), now + 30s);
        now += 30s;
        isolation.give_up(now);
        EXPECT_EQ(isolation.ends_by(), Instant::max());
        const Duration pause = isolation.admit(lost(2), now).value();
        now += pause;
        return pause;
    };
    for (const int leases : {1, 2, 4, 8, 16, 16}) EXPECT_EQ(drain_in_vain(), leases * 30s);
    isolation.claimed(false);
    isolation.admit(lost(2), now);
    isolation.claimed(true);  // not in vain
    EXPECT_EQ(drain_in_vain(), 30s);
}

TEST_F(IsolationTest, OneThatRunsForTooLongEndsNobodyElsesIsolation) {
    isolation.claimed(true);
    isolation.admit(lost(2, 1), now);
    isolation.hold(lost(2, 1));
    isolation.start(now);
    now += 30s;
    ASSERT_TRUE(isolation.overdue(now));
    EXPECT_FALSE(isolation.give_up(now));
    isolation.claimed(true);
    EXPECT_FALSE(isolation.admit(lost(2, 2), now));
    isolation.hold(lost(2, 2));
    isolation.start(now);
    EXPECT_FALSE(isolation.finished(WorkItemId(1, 1), now)) << "the long one";
    EXPECT_TRUE(isolation.running());
}

}  // namespace
}  // namespace postroom::isolation_test
