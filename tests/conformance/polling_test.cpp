// The verbs of a polling store (claim_due, mark_dispatched, reschedule, fail): section 5.1.4 of the
// outbox specification, under the outbox's own owner token.
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(PollingLaw, S000_5_ClaimDueReturnsNoMoreThanItsLimit) {
    put_many(5);
    EXPECT_THAT(outbox().claim_due(3), SizeIs(3));
    EXPECT_THAT(outbox().claim_due(3), SizeIs(2));
    EXPECT_THAT(outbox().claim_due(3), IsEmpty());
}

TEST_P(PollingLaw, S000_5_ALimitOfZeroIsOutOfRange) {
    EXPECT_THROW((void)outbox().claim_due(0), std::out_of_range);
}

TEST_P(PollingLaw, S000_5_MarkDispatchedMakesAMessageDone) {
    const WorkItemId id = put();
    ASSERT_THAT(outbox().claim_due(1), SizeIs(1));
    EXPECT_TRUE(outbox().mark_dispatched(id));
    EXPECT_EQ(get(id).state, State::done);
    EXPECT_EQ(get(id).processed_by, outbox().owner().to_string());
    EXPECT_FALSE(outbox().mark_dispatched(id));
}

TEST_P(PollingLaw, S000_5_RescheduleWaitsForTheDelayAndKeepsTheError) {
    const WorkItemId id = put();
    ASSERT_THAT(outbox().claim_due(1), SizeIs(1));
    const Instant before = now();
    EXPECT_TRUE(outbox().reschedule(id, 30s, "busy"));
    EXPECT_GE(get(id).available_at, before + 30s);
    EXPECT_LE(get(id).available_at, now() + 30s);
    EXPECT_EQ(get(id).last_error, "busy");
    EXPECT_EQ(get(id).retry_count, 1U);
    EXPECT_FALSE(outbox().reschedule(id, 30s, "busy"));
}

TEST_P(PollingLaw, S000_5_ADelayOfZeroOrLessIsOutOfRange) {
    const WorkItemId id = put();
    ASSERT_THAT(outbox().claim_due(1), SizeIs(1));
    EXPECT_THROW(outbox().reschedule(id, 0s, "x"), std::out_of_range);
    EXPECT_THROW(outbox().reschedule(id, -1s, "x"), std::out_of_range);
}

TEST_P(PollingLaw, S000_5_AnEmptyErrorOfARescheduleIsNoError) {
    const WorkItemId id = put();
    ASSERT_THAT(outbox().claim_due(1), SizeIs(1));
    EXPECT_TRUE(outbox().reschedule(id, 1ms, ""));
    EXPECT_EQ(get(id).last_error, "");
}

TEST_P(PollingLaw, S000_5_FailMakesAMessageDead) {
    const WorkItemId id = put();
    ASSERT_THAT(outbox().claim_due(1), SizeIs(1));
    EXPECT_TRUE(outbox().fail(id, "broken"));
    EXPECT_EQ(get(id).state, State::dead);
    EXPECT_EQ(get(id).last_error, "broken");
    EXPECT_FALSE(outbox().fail(id, "broken"));
}

TEST_P(PollingLaw, AMessageThatWasNotClaimedCannotBeSettled) {
    const WorkItemId id = put();
    EXPECT_FALSE(outbox().mark_dispatched(id));
    EXPECT_FALSE(outbox().reschedule(id, 1s, "x"));
    EXPECT_FALSE(outbox().fail(id, "x"));
    EXPECT_EQ(get(id).state, State::ready);
}

}  // namespace
}  // namespace postroom::test
