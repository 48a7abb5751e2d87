// Claiming: what is leased, to whom, for how long, and what is left alone.
#include <algorithm>
#include <set>
#include <stop_token>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(ClaimLaw, OBX_017_IBX_030_ClaimLeasesUpToABatch) {
    const std::vector<WorkItemId> ids = put_many(7);
    std::set<WorkItemId> claimed;
    for (const std::size_t expected : {3U, 3U, 1U, 0U}) {
        const std::vector<Message> batch = claim(3);
        EXPECT_THAT(batch, SizeIs(expected));
        for (const Message& message : batch) EXPECT_TRUE(claimed.insert(message.id).second);
    }
    EXPECT_THAT(claimed, UnorderedElementsAreArray(ids));
}

TEST_P(ClaimLaw, OBX_022_IBX_036_ClaimReturnsTheIdOfEveryMessageItLeased) {
    const std::vector<WorkItemId> ids = put_many(5);
    EXPECT_THAT(ids_of(claim()), UnorderedElementsAreArray(ids));
    for (const WorkItemId& id : ids) EXPECT_EQ(get(id).state, State::in_progress);
}

TEST_P(ClaimLaw, OBX_018_IBX_032_ClaimTakesOnlyWhatIsDue) {
    const WorkItemId later = put({.due_time = now() + 1h});
    const WorkItemId soon = put({.due_time = now() + 50ms});
    const WorkItemId past = put({.due_time = now() - 1h});
    pass(90ms);
    EXPECT_THAT(ids_of(claim()), UnorderedElementsAreArray({soon, past}));
    EXPECT_EQ(get(later).state, State::ready);
}

TEST_P(ClaimLaw, OBX_012_IBX_023_AMessageDueInTheFutureIsNotClaimable) {
    const Instant due = now() + 1h;
    const WorkItemId id = put({.due_time = due});
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(get(id).available_at, due);
    EXPECT_EQ(get(id).due_time, due);
}

TEST_P(ClaimLaw, OBX_013_IBX_024_AMessageWithoutDueTimeOrWithAPastOneIsClaimableAtOnce) {
    put();
    put({.due_time = now() - 1h});
    put({.due_time = Instant{}});
    EXPECT_THAT(claim(), SizeIs(3));
}

TEST_P(ClaimLaw, OBX_019_IBX_033_ClaimLeavesWhatAnotherHasLeased) {
    put_many(4);
    const std::vector<Message> mine = claim(3);
    const std::vector<Message> theirs = claim(other, 10);
    ASSERT_THAT(theirs, SizeIs(1));
    EXPECT_THAT(ids_of(mine), testing::Not(testing::Contains(theirs[0].id)));
}

TEST_P(ClaimLaw, OBX_019_IBX_033_AnExpiredLeaseIsClaimableWithoutAReap) {
    const WorkItemId id = put();
    ASSERT_THAT(claim(me, 1, short_lease), SizeIs(1));
    pass(after_short_lease);
    const std::vector<Message> taken = claim(other);
    ASSERT_THAT(taken, SizeIs(1));
    EXPECT_EQ(taken[0].id, id);
    EXPECT_EQ(taken[0].lost_count, 1U);
    EXPECT_EQ(taken[0].retry_count, 0U);
}

TEST_P(ClaimLaw, OBX_020_IBX_034_TheLeaseEndsAfterTheGivenTimeOnTheDatabasesClock) {
    put();
    const Instant before = now();
    const Message message = claim_one(2min);
    const Instant after = now();
    EXPECT_GE(message.lease->locked_until, before + 2min);
    EXPECT_LE(message.lease->locked_until, after + 2min);
    EXPECT_EQ(get(message.id).lease->locked_until, message.lease->locked_until);
}

TEST_P(ClaimLaw, OBX_021_IBX_035_TheLeaseBelongsToTheClaimingOwner) {
    const WorkItemId id = put();
    const std::vector<Message> claimed = claim(other, 1);
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0].lease->owner, other);
    EXPECT_EQ(get(id).lease->owner, other);
    EXPECT_EQ(get(id).lease->lease_id, claimed[0].lease->lease_id);
}

TEST_P(ClaimLaw, OBX_023_IBX_037_AnEmptyQueueGivesAnEmptyClaim) {
    EXPECT_THAT(claim(), IsEmpty());
    put();
    ASSERT_THAT(claim(), SizeIs(1));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(ClaimLaw, OBX_024_OBX_025_IBX_038_DoneAndDeadMessagesAreNotClaimed) {
    put_many(2);
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(2));
    work().ack(leases_of(claimed[0]));
    work().fail(leases_of(claimed[1]), "broken");
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_THAT(sandbox().reopen()->claim(queue(), {.owner = other}), IsEmpty());
}

TEST_P(ClaimLaw, OBX_026_IBX_039_ClaimNeverTakesMoreThanTheBatch) {
    put_many(20);
    put_many(5, {.priority = 5});
    put_many(5, {.priority = -5});
    for (const std::uint32_t batch : {1U, 2U, 7U}) EXPECT_THAT(claim(batch), SizeIs(batch));
    EXPECT_THAT(claim(100), SizeIs(20));
}

TEST_P(ClaimLaw, OBX_027_IBX_040_ALeaseOfZeroOrLessIsOutOfRange) {
    put();
    EXPECT_THROW((void)work().claim(me, 0s, 1), std::out_of_range);
    EXPECT_THROW((void)work().claim(me, -1s, 1), std::out_of_range);
    EXPECT_THROW((void)work().claim(me, store().limits().lease_max + 1us, 1), std::out_of_range);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(ClaimLaw, OBX_028_IBX_041_ABatchOfZeroIsOutOfRange) {
    put();
    EXPECT_THROW((void)work().claim(me, 30s, 0), std::out_of_range);
    EXPECT_THROW((void)work().claim(me, 30s, store().limits().batch_max + 1), std::out_of_range);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(ClaimLaw, OBX_029_IBX_042_ClaimWaitsForTheNextAttempt) {
    put_many(2);
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(2));
    work().abandon(leases_of(claimed[0]), "later", 1h);
    work().abandon(leases_of(claimed[1]), "soon", 50ms);
    pass(90ms);
    EXPECT_THAT(ids_of(claim()), ElementsAreArray({claimed[1].id}));
}

TEST_P(ClaimLaw, IBX_043_IBX_130_TheNilOwnerIsRefused) {
    const WorkItemId id = put();
    const OwnerToken nil;
    const std::vector<WorkItemId> ids{id};
    EXPECT_THROW((void)work().claim(nil, 30s, 1), std::invalid_argument);
    EXPECT_THROW(work().ack(nil, ids), std::invalid_argument);
    EXPECT_THROW(work().abandon(nil, ids), std::invalid_argument);
    EXPECT_THROW(work().fail(nil, ids, "x"), std::invalid_argument);
    EXPECT_EQ(get(id).state, State::ready);
}

TEST_P(ClaimLaw, S000_5_TheOwnerTokenMustNotBeEmpty) {
    EXPECT_THROW((void)work().claim(OwnerToken(), 30s, 1), std::invalid_argument);
}

TEST_P(ClaimLaw, S000_5_LeaseAndBatchMustBePositive) {
    EXPECT_THROW((void)work().claim(me, 0us, 1), std::out_of_range);
    EXPECT_THROW((void)work().claim(me, 1s, 0), std::out_of_range);
}

TEST_P(ClaimLaw, OBX_097_OBX_098_IBX_119_IBX_120_TheRecommendedRangesOfLeaseAndBatchAreAccepted) {
    put_many(4);
    EXPECT_THAT(claim(1, 10s), SizeIs(1));
    EXPECT_THAT(claim(1, 300s), SizeIs(1));
    EXPECT_THAT(claim(100, 30s), SizeIs(2));
}

TEST_P(ClaimLaw, AClaimedMessageCarriesItsLeaseAndItsContent) {
    put({.topic = "a.b",
         .payload = "hello",
         .content_type = "text/plain",
         .headers = {{"trace", "1"}}});
    const Message message = claim_one();
    EXPECT_EQ(message.topic, "a.b");
    EXPECT_EQ(message.payload, "hello");
    EXPECT_EQ(message.content_type, "text/plain");
    EXPECT_EQ(message.headers, (Headers{{"trace", "1"}}));
    EXPECT_EQ(message.state, State::in_progress);
    EXPECT_EQ(message.queue, queue());
    EXPECT_EQ(message.lease->id, message.id);
    EXPECT_EQ(message.lease->retry_count, 0U);
}

TEST_P(ClaimLaw, FreshMessagesComeInOrderOfArrival) {
    std::vector<WorkItemId> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(put());
    EXPECT_THAT(ids_of(claim(4)), UnorderedElementsAreArray({ids[0], ids[1], ids[2], ids[3]}));
}

TEST_P(ClaimLaw, EveryClaimGetsALeaseIdOfItsOwn) {
    put_many(3);
    std::set<LeaseId> seen;
    for (int i = 0; i < 3; ++i) seen.insert(claim_one().lease->lease_id);
    EXPECT_THAT(seen, SizeIs(3));
}

// Goal: a message whose time is over reaches nobody, whoever claims, and does not take a place.
// Method: one that has expired and one that has not, in batches of one; then what became of them.
TEST_P(ClaimLaw, S000_8_6_AnExpiredMessageIsDeadAndNeverHandedOut) {
    const WorkItemId expired = put({.expires_at = now() + 30ms});
    const WorkItemId late = put({.expires_at = now() + 1h});
    pass(60ms);
    EXPECT_EQ(ids_of(claim(1)), std::vector{late});
    EXPECT_THAT(claim(), IsEmpty());
    const Message message = get(expired);
    EXPECT_EQ(message.state, State::dead);
    EXPECT_EQ(message.dead_reason, DeadReason::expired);
    EXPECT_THAT(message.last_error, testing::HasSubstr("expired"));
    EXPECT_EQ(message.retry_count, 0U);
}

// Method: a claim that was stopped before it began; afterwards everything is there for another.
TEST_P(ClaimLaw, S000_5_AStoppedClaimTakesNothing) {
    put_many(5);
    std::stop_source source;
    source.request_stop();
    EXPECT_THAT(work().claim(me, long_lease, 100, source.get_token()), IsEmpty());
    EXPECT_THAT(claim(), SizeIs(5));
}

TEST_P(ClaimLaw, S000_5_AStoppedReapEndsAndLeavesTheRestForTheNext) {
    put_many(3);
    ASSERT_THAT(claim(me, 3, short_lease), SizeIs(3));
    pass(after_short_lease);
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(work().reap_expired(source.get_token()), 0U);
    EXPECT_EQ(work().reap_expired(), 3U);
}

}  // namespace
}  // namespace postroom::test
