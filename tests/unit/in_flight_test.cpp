#include "dispatch/in_flight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace postroom::in_flight_test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Instant start{1h};

Lease lease(std::uint64_t seq, std::int64_t lease_id = 1) {
    return {.id = WorkItemId(seq, 7), .lease_id = LeaseId(lease_id)};
}

struct InFlightTest : testing::Test {
    InFlight in_flight{30s, 0s};
};

TEST_F(InFlightTest, AMessageIsHeldOnce) {
    EXPECT_TRUE(in_flight.add(lease(1), start));
    EXPECT_FALSE(in_flight.add(lease(1, 2), start));
    EXPECT_TRUE(in_flight.holds(lease(1), start));
    EXPECT_FALSE(in_flight.holds(lease(1, 2), start));
}

TEST_F(InFlightTest, ALeaseEndsWhenItWasTakenPlusItsLength) {
    in_flight.add(lease(1), start);
    EXPECT_TRUE(in_flight.holds(lease(1), start + 30s - 1us));
    EXPECT_FALSE(in_flight.holds(lease(1), start + 30s));
}

TEST_F(InFlightTest, RenewalIsDueAtAThirdOldestFirst) {
    in_flight.add(lease(1), start);
    in_flight.add(lease(2), start + 1s);
    in_flight.add(lease(3), start - 2s);  // handed over late
    EXPECT_EQ(in_flight.next_due(), start + 8s);
    EXPECT_THAT(in_flight.due(start + 8s, 10), SizeIs(1));
    EXPECT_THAT(in_flight.due(start + 20s, 2), SizeIs(2));
    in_flight.renewed(lease(3), start + 8s);
    EXPECT_EQ(in_flight.next_due(), start + 10s);
    EXPECT_TRUE(in_flight.holds(lease(3), start + 37s));
    in_flight.postpone(lease(1), start + 15s);
    EXPECT_EQ(in_flight.next_due(), start + 11s);
}

TEST_F(InFlightTest, ALostLeaseStopsItsHandlerAndBlocksTheMessageUntilThatReturns) {
    std::stop_source stop;
    in_flight.add(lease(1), start);
    in_flight.start(lease(1), stop, start);
    const InFlight::Lost lost = in_flight.lost(lease(1));
    EXPECT_TRUE(lost.news);
    EXPECT_EQ(lost.stop, stop);
    EXPECT_FALSE(in_flight.lost(lease(1)).news);
    EXPECT_FALSE(in_flight.holds(lease(1), start));
    EXPECT_FALSE(in_flight.add(lease(1, 2), start));
    EXPECT_FALSE(in_flight.finish(lease(1)));
    EXPECT_TRUE(in_flight.add(lease(1, 2), start));
}

TEST_F(InFlightTest, AMessageThatWaitsIsSimplyForgottenWhenLost) {
    in_flight.add(lease(1), start);
    EXPECT_TRUE(in_flight.lost(lease(1)).news);
    EXPECT_EQ(in_flight.size(), 0U);
    EXPECT_EQ(in_flight.next_due(), Instant::max());
}

TEST_F(InFlightTest, ALossWhileItIsBeingSettledIsNoNews) {
    in_flight.add(lease(1), start);
    EXPECT_TRUE(in_flight.finish(lease(1)));
    EXPECT_FALSE(in_flight.lost(lease(1)).news);
}

TEST(InFlightTtl, AHandlerThatRunsTooLongIsGivenUp) {
    InFlight in_flight(30s, 60s);
    std::stop_source stop;
    in_flight.add(lease(1), start);
    in_flight.start(lease(1), stop, start);
    EXPECT_THAT(in_flight.give_up(start + 59s), IsEmpty());
    EXPECT_THAT(in_flight.give_up(start + 60s), SizeIs(1));
    EXPECT_TRUE(in_flight.add(lease(1, 2), start + 60s));
    EXPECT_FALSE(in_flight.finish(lease(1)));
    EXPECT_TRUE(in_flight.holds(lease(1, 2), start + 60s));
}

}  // namespace
}  // namespace postroom::in_flight_test
