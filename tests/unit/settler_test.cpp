#include "dispatch/settler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace postroom::settler_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Instant start{1h};

Outgoing outcome(std::uint64_t seq) {
    Outgoing out;
    out.settlement.lease.id = WorkItemId(seq, 0);
    return out;
}

std::vector<std::uint64_t> seqs(const std::vector<Outgoing>& batch) {
    std::vector<std::uint64_t> out;
    for (const Outgoing& one : batch) out.push_back(one.settlement.lease.id.seq());
    return out;
}

struct SettlerTest : testing::Test {
    Settler settler{{.batch = 3, .delay = 2ms, .failure_pause = 50ms, .failure_pause_max = 120ms}};
};

TEST_F(SettlerTest, NothingIsDueWhenNothingWaits) {
    EXPECT_EQ(settler.next_due(), Instant::max());
    EXPECT_THAT(settler.take(start, true), IsEmpty());
}

TEST_F(SettlerTest, AnOutcomeWaitsForOthersButNotForLong) {
    settler.add(outcome(1), start);
    EXPECT_EQ(settler.next_due(), start + 2ms);
    EXPECT_THAT(settler.take(start + 1ms, false), IsEmpty());
    settler.add(outcome(2), start + 1ms);
    EXPECT_THAT(seqs(settler.take(start + 2ms, false)), ElementsAre(1, 2));
    EXPECT_TRUE(settler.empty());
}

TEST_F(SettlerTest, AnOutcomeThatSomebodyWaitsForIsDueSoonerAndTakesTheOthersWithIt) {
    Settler patient{{.batch = 3, .delay = 20ms, .hurried_delay = 2ms}};
    patient.add(outcome(1), start);
    EXPECT_EQ(patient.next_due(), start + 20ms);
    patient.add(outcome(2), start + 1ms, /*hurried=*/true);
    EXPECT_EQ(patient.next_due(), start + 3ms);
    EXPECT_THAT(seqs(patient.take(start + 3ms, false)), ElementsAre(1, 2));
    patient.add(outcome(3), start + 4ms);
    EXPECT_EQ(patient.next_due(), start + 24ms);
    patient.hurry(start + 5ms);
    EXPECT_EQ(patient.next_due(), start + 5ms);
}

TEST_F(SettlerTest, WhatIsLeftOfAFullBatchKeepsItsTime) {
    for (std::uint64_t seq = 1; seq <= 3; ++seq) settler.add(outcome(seq), start);
    settler.add(outcome(4), start + 1ms);
    settler.take(start + 1ms, false);
    EXPECT_EQ(settler.next_due(), start + 3ms);
}

TEST_F(SettlerTest, AFullBatchIsDueAtOnceAndNoLargerThanThat) {
    for (std::uint64_t seq = 1; seq <= 4; ++seq) settler.add(outcome(seq), start);
    EXPECT_THAT(seqs(settler.take(start, false)), ElementsAre(1, 2, 3));
    EXPECT_THAT(settler.take(start, false), IsEmpty());
    EXPECT_THAT(settler.take(start, true), SizeIs(1));
}

TEST_F(SettlerTest, AFailedBatchComesAgainFirstAfterAGrowingPause) {
    settler.add(outcome(1), start);
    settler.add(outcome(2), start);
    std::vector<Outgoing> batch = settler.take(start, true);
    settler.add(outcome(3), start);
    Instant now = start;
    for (const Duration pause : {50ms, 100ms, 120ms, 120ms}) {
        settler.failed(std::move(batch), now);
        EXPECT_EQ(settler.next_due(), now + pause);
        EXPECT_THAT(settler.take(now + pause - 1us, true), IsEmpty());
        now += pause;
        batch = settler.take(now, true);
        EXPECT_THAT(seqs(batch), ElementsAre(1, 2, 3));
    }
    settler.succeeded();
    settler.add(outcome(4), now);
    EXPECT_EQ(settler.next_due(), now + 2ms);
}

TEST_F(SettlerTest, ARefusedBatchComesAgainOneByOne) {
    settler.add(outcome(1), start);
    settler.add(outcome(2), start);
    settler.refused(settler.take(start, true));
    EXPECT_EQ(settler.size(), 2U);
    EXPECT_THAT(seqs(settler.take(start, false)), ElementsAre(1));
    EXPECT_THAT(seqs(settler.take(start, false)), ElementsAre(2));
    EXPECT_TRUE(settler.empty());
}

}  // namespace
}  // namespace postroom::settler_test
