// Leases: how they end, who may still settle, and what take-over leaves behind.
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(LeaseLaw, OBX_049_OBX_050_IBX_068_IBX_069_ReapReleasesExactlyTheExpiredLeases) {
    put_many(5);
    const std::vector<Message> held = claim(other, 2);
    const std::vector<Message> expired = claim(me, 3, short_lease);
    ASSERT_THAT(held, SizeIs(2));
    ASSERT_THAT(expired, SizeIs(3));
    pass(after_short_lease);
    EXPECT_EQ(work().reap_expired(), 3U);
    for (const Message& message : expired) {
        const Message after = get(message.id);
        EXPECT_EQ(after.state, State::ready);
        EXPECT_FALSE(after.lease.has_value());
        EXPECT_EQ(after.lost_count, 1U);
        EXPECT_EQ(after.retry_count, 0U);
    }
    for (const Message& message : held) EXPECT_EQ(get(message.id).state, State::in_progress);
    EXPECT_EQ(work().reap_expired(), 0U);
}

TEST_P(LeaseLaw, OBX_051_IBX_070_ReapedMessagesAreClaimable) {
    put_many(2);
    ASSERT_THAT(claim(me, 2, short_lease), SizeIs(2));
    pass(after_short_lease);
    ASSERT_EQ(work().reap_expired(), 2U);
    EXPECT_THAT(claim(other), SizeIs(2));
}

TEST_P(LeaseLaw, OBX_052_IBX_071_ReapLeavesDoneAndDeadMessagesAlone) {
    put_many(2);
    const std::vector<Message> claimed = claim(me, 2, short_lease);
    ASSERT_THAT(claimed, SizeIs(2));
    work().ack(leases_of(claimed[0]));
    work().fail(leases_of(claimed[1]), "x");
    pass(after_short_lease);
    EXPECT_EQ(work().reap_expired(), 0U);
    EXPECT_EQ(get(claimed[1].id).state, State::dead);
    EXPECT_EQ(get(claimed[1].id).lost_count, 0U);
    EXPECT_EQ(store().counts(queue()).ready, 0U);
}

TEST_P(LeaseLaw, ReapTakesNoMoreThanItsLimit) {
    put_many(5);
    ASSERT_THAT(claim(me, 5, short_lease), SizeIs(5));
    pass(after_short_lease);
    EXPECT_EQ(store().reap(queue(), 2), 2U);
    EXPECT_EQ(store().reap(queue(), 2), 2U);
    EXPECT_EQ(store().reap(queue(), 2), 1U);
}

TEST_P(LeaseLaw, AnExpiredLeaseShowsAsReady) {
    put();
    const Message message = claim_one(short_lease);
    pass(after_short_lease);
    EXPECT_EQ(get(message.id).state, State::ready);
}

// Lease-id fencing: the owner token alone would let the stale ack through.
TEST_P(LeaseLaw, AStaleAckAfterTakeOverByTheSameOwnerChangesNothing) {
    put();
    const Message first = claim_one(short_lease);
    pass(after_short_lease);
    const Message second = claim_one();
    ASSERT_EQ(second.id, first.id);
    ASSERT_NE(second.lease->lease_id, first.lease->lease_id);
    EXPECT_THAT(work().ack(leases_of(first)), ElementsAre(Settled::lost));
    EXPECT_THAT(work().fail(leases_of(first), "x"), ElementsAre(Settled::lost));
    EXPECT_THAT(work().abandon(leases_of(first), "x"), ElementsAre(Settled::lost));
    EXPECT_THAT(work().release(leases_of(first)), ElementsAre(Settled::lost));
    EXPECT_THAT(work().extend(leases_of(first), 30s), ElementsAre(false));
    EXPECT_EQ(get(first.id).lease->lease_id, second.lease->lease_id);
    EXPECT_THAT(work().ack(leases_of(second)), ElementsAre(Settled::done));
}

TEST_P(LeaseLaw, AStaleAckAfterTakeOverByAnotherChangesNothing) {
    put();
    const Message first = claim_one(short_lease);
    pass(after_short_lease);
    const std::vector<Message> second = claim(other);
    ASSERT_THAT(second, SizeIs(1));
    EXPECT_THAT(work().ack(leases_of(first)), ElementsAre(Settled::lost));
    const std::vector<WorkItemId> ids{first.id};
    EXPECT_EQ(work().ack(me, ids), 0U);
    EXPECT_THAT(work().ack(leases_of(second)), ElementsAre(Settled::done));
}

TEST_P(LeaseLaw, AStaleAckAfterAReapChangesNothing) {
    put();
    const Message message = claim_one(short_lease);
    pass(after_short_lease);
    ASSERT_EQ(work().reap_expired(), 1U);
    EXPECT_THAT(work().ack(leases_of(message)), ElementsAre(Settled::lost));
    EXPECT_EQ(get(message.id).state, State::ready);
}

// Nobody else has seen the message: taking the late result saves a second delivery.
TEST_P(LeaseLaw, AnAckAfterExpiryButBeforeTakeOverSucceeds) {
    put();
    const Message message = claim_one(short_lease);
    pass(after_short_lease);
    EXPECT_THAT(work().ack(leases_of(message)), ElementsAre(Settled::done));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(LeaseLaw, EveryTakeOverCountsOneLoss) {
    put();
    for (std::uint32_t losses = 0; losses < 3; ++losses) {
        EXPECT_EQ(claim_one(short_lease).lost_count, losses);
        pass(after_short_lease);
    }
    const Message message = claim_one();
    EXPECT_EQ(message.lost_count, 3U);
    EXPECT_EQ(message.retry_count, 0U);
}

TEST_P(LeaseLaw, LossesAndFailuresAreCountedApart) {
    put();
    work().abandon(leases_of(claim_one()), "x", 1ms);
    pass(5ms);
    claim_one(short_lease);
    pass(after_short_lease);
    const Message message = claim_one();
    EXPECT_EQ(message.retry_count, 1U);
    EXPECT_EQ(message.lost_count, 1U);
    EXPECT_EQ(message.last_error, "x");
}

TEST_P(LeaseLaw, ExtendProlongsTheLease) {
    put();
    const Message message = claim_one(short_lease);
    const Instant before = now();
    EXPECT_THAT(work().extend(leases_of(message), 5min), ElementsAre(true));
    EXPECT_GE(get(message.id).lease->locked_until, before + 5min);
    pass(after_short_lease);
    EXPECT_THAT(claim(other), IsEmpty());
    EXPECT_EQ(work().reap_expired(), 0U);
    EXPECT_THAT(work().ack(leases_of(message)), ElementsAre(Settled::done));
}

TEST_P(LeaseLaw, ExtendRevivesAnExpiredLeaseThatNobodyTook) {
    put();
    const Message message = claim_one(short_lease);
    pass(after_short_lease);
    EXPECT_THAT(work().extend(leases_of(message), 5min), ElementsAre(true));
    EXPECT_THAT(claim(other), IsEmpty());
    EXPECT_EQ(get(message.id).lost_count, 0U);
}

TEST_P(LeaseLaw, ExtendOfASettledLeaseIsFalse) {
    put_many(2);
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(2));
    work().ack(leases_of(claimed[0]));
    EXPECT_THAT(work().extend(leases_of(claimed), 30s), ElementsAre(false, true));
}

TEST_P(LeaseLaw, ExtendRefusesALeaseOutOfRange) {
    put();
    const Message message = claim_one();
    EXPECT_THROW((void)work().extend(leases_of(message), 0s), std::out_of_range);
    EXPECT_THROW((void)work().extend(leases_of(message), store().limits().lease_max + 1s),
                 std::out_of_range);
}

TEST_P(LeaseLaw, ExpiredLeasesAreFoundBehindFreshMessages) {
    const WorkItemId id = put();
    claim_one(short_lease);
    pass(after_short_lease);
    put_many(20);
    std::vector<WorkItemId> claimed;
    for (int i = 0; i < 3; ++i)
        for (const Message& message : claim(10)) claimed.push_back(message.id);
    EXPECT_THAT(claimed, SizeIs(21));
    EXPECT_THAT(claimed, testing::Contains(id));
}

}  // namespace
}  // namespace postroom::test
