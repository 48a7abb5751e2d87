// Settling: ack, abandon, fail and release, by lease and by id, and who may.
#include <array>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;

TEST_P(SettleLaw, OBX_030_OBX_031_OBX_032_IBX_044_AckMakesAMessageDone) {
    put();
    const Message message = claim_one();
    const Instant before = now();
    EXPECT_THAT(work().ack(leases_of(message)), ElementsAre(Settled::done));
    const Instant after = now();

    const std::vector<Message> found =
        store().find(queue(), {.message_id = message.message_id.str()});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].state, State::done);
    EXPECT_GE(found[0].processed_at, before);
    EXPECT_LE(found[0].processed_at, after);
    EXPECT_EQ(found[0].processed_by, me.to_string());
}

TEST_P(SettleLaw, OBX_033_OBX_034_IBX_045_IBX_046_AckOfAnotherOwnersLeaseChangesNothing) {
    put();
    const Message message = claim_one();
    const std::vector<WorkItemId> ids{message.id};
    EXPECT_EQ(work().ack(other, ids), 0U);
    EXPECT_EQ(get(message.id).state, State::in_progress);
    EXPECT_EQ(work().ack(me, ids), 1U);
}

TEST_P(SettleLaw, OBX_034_IBX_046_AckIgnoresIdsThatDoNotExist) {
    const std::vector<WorkItemId> ids{WorkItemId(123456, 99), WorkItemId(WorkItemId::seq_max, 1)};
    EXPECT_EQ(work().ack(me, ids), 0U);
}

TEST_P(SettleLaw, OBX_035_IBX_047_AckedMessagesAreNeverClaimedAgain) {
    put_many(3);
    work().ack(leases_of(claim(me, 3, short_lease)));
    pass(after_short_lease);
    EXPECT_EQ(work().reap_expired(), 0U);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(SettleLaw, OBX_036_IBX_048_IBX_059_IBX_066_AnEmptyListOfIdsIsANoOp) {
    put();
    const Message message = claim_one();
    const std::vector<WorkItemId> none;
    const std::vector<Lease> no_leases;
    EXPECT_EQ(work().ack(me, none), 0U);
    EXPECT_EQ(work().abandon(me, none), 0U);
    EXPECT_EQ(work().fail(me, none, "x"), 0U);
    EXPECT_THAT(work().ack(no_leases), IsEmpty());
    EXPECT_THAT(work().abandon(no_leases), IsEmpty());
    EXPECT_THAT(work().fail(no_leases, "x"), IsEmpty());
    EXPECT_THAT(work().release(no_leases), IsEmpty());
    EXPECT_THAT(work().extend(no_leases, 30s), IsEmpty());
    EXPECT_EQ(get(message.id).state, State::in_progress);
}

TEST_P(SettleLaw, S000_5_EmptyListsOfIdsAreNoOps) {
    const std::vector<WorkItemId> none;
    EXPECT_EQ(work().ack(me, none), 0U);
    EXPECT_EQ(work().abandon(me, none), 0U);
    EXPECT_EQ(work().fail(me, none, ""), 0U);
}

TEST_P(SettleLaw, S000_5_RepeatedIdsAreToleratedAndCountedOnce) {
    put_many(3);
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(3));
    const auto twice = [](const Message& message) {
        return std::vector<WorkItemId>{message.id, message.id, message.id};
    };
    EXPECT_EQ(work().ack(me, twice(claimed[0])), 1U);
    EXPECT_EQ(work().abandon(me, twice(claimed[1]), "once"), 1U);
    EXPECT_EQ(work().fail(me, twice(claimed[2]), "x"), 1U);
    EXPECT_EQ(get(claimed[1].id).retry_count, 1U);
}

TEST_P(SettleLaw, S000_5_ForeignIdsAmongOnesOwnAreIgnored) {
    put_many(2);
    const Message mine = claim_one();
    const std::vector<Message> theirs = claim(other, 1);
    ASSERT_THAT(theirs, SizeIs(1));
    const std::vector<WorkItemId> ids{theirs[0].id, mine.id, WorkItemId(77777, 1)};
    EXPECT_EQ(work().ack(me, ids), 1U);
    EXPECT_EQ(get(theirs[0].id).state, State::in_progress);
}

TEST_P(SettleLaw, ALeaseGivenTwiceIsSettledOnce) {
    put();
    const Lease lease = *claim_one().lease;
    const std::vector<Settled> settled = work().ack(std::vector{lease, lease});
    ASSERT_THAT(settled, SizeIs(2));
    EXPECT_EQ(settled[0], Settled::done);
    EXPECT_EQ(store().counts(queue()).in_progress, 0U);
}

TEST_P(SettleLaw, OBX_037_IBX_050_AbandonReleasesTheLease) {
    put();
    const Message message = claim_one();
    EXPECT_THAT(work().abandon(leases_of(message), "busy"), ElementsAre(Settled::ready));
    const Message after = get(message.id);
    EXPECT_EQ(after.state, State::ready);
    EXPECT_FALSE(after.lease.has_value());
}

TEST_P(SettleLaw, OBX_038_IBX_051_AbandonCountsTheAttempt) {
    const WorkItemId id = put();
    for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
        work().abandon(leases_of(claim_one()), "again", 1ms);
        EXPECT_EQ(get(id).retry_count, attempt);
        pass(5ms);
    }
    const Message message = claim_one();
    EXPECT_EQ(message.retry_count, 3U);
    EXPECT_EQ(message.lease->retry_count, 3U);
}

TEST_P(SettleLaw, OBX_040_OBX_041_IBX_054_IBX_055_AbandonOfAnotherOwnersLeaseChangesNothing) {
    put();
    const Message message = claim_one();
    const std::vector<WorkItemId> ids{message.id, WorkItemId(4711, 4711)};
    EXPECT_EQ(work().abandon(other, ids, "not mine"), 0U);
    const Message after = get(message.id);
    EXPECT_EQ(after.state, State::in_progress);
    EXPECT_EQ(after.retry_count, 0U);
    EXPECT_EQ(after.last_error, "");
}

TEST_P(SettleLaw, OBX_042_IBX_056_AnAbandonedMessageComesAgainAfterItsDelay) {
    put();
    const Message message = claim_one();
    const Instant before = now();
    work().abandon(leases_of(message), "again", 50ms);
    const Instant after = now();
    const Message waiting = get(message.id);
    EXPECT_GE(waiting.available_at, before + 50ms);
    EXPECT_LE(waiting.available_at, after + 50ms);
    pass(90ms);
    const Message again = claim_one();
    EXPECT_EQ(again.id, message.id);
    EXPECT_EQ(again.message_id, message.message_id);
    EXPECT_EQ(again.payload, message.payload);
}

TEST_P(SettleLaw, OBX_043_IBX_057_AbandonKeepsTheError) {
    put();
    const Message message = claim_one();
    work().abandon(leases_of(message), "connection refused", 1ms);
    EXPECT_EQ(get(message.id).last_error, "connection refused");
}

TEST_P(SettleLaw, AnErrorMayBeInAnyScript) {
    put();
    const Message message = claim_one();
    const std::string error = "сбой, 故障, \U0001F525";
    work().abandon(leases_of(message), error, 1ms);
    EXPECT_EQ(get(message.id).last_error, error);
    pass(5ms);
    work().fail(leases_of(claim_one()), error + error);
    EXPECT_EQ(get(message.id).last_error, error + error);
}

TEST_P(SettleLaw, S000_5_AnEmptyErrorIsNoError) {
    const WorkItemId id = put();
    work().abandon(leases_of(claim_one()), "", 1ms);
    EXPECT_EQ(get(id).last_error, "");
    pass(5ms);
    work().fail(leases_of(claim_one()), "");
    EXPECT_EQ(get(id).last_error, "");
    EXPECT_EQ(get(id).state, State::dead);
}

TEST_P(SettleLaw, IBX_058_S000_5_ADelayOfZeroOrLessIsOutOfRange) {
    put();
    const Message message = claim_one();
    const std::vector<WorkItemId> ids{message.id};
    EXPECT_THROW(work().abandon(leases_of(message), "x", 0s), std::out_of_range);
    EXPECT_THROW(work().abandon(leases_of(message), "x", -1s), std::out_of_range);
    EXPECT_THROW(work().abandon(me, ids, "x", Duration::zero()), std::out_of_range);
    EXPECT_EQ(get(message.id).state, State::in_progress);
}

TEST_P(SettleLaw, OBX_044_OBX_045_IBX_060_IBX_061_FailMakesAMessageDeadWithItsError) {
    put();
    const Message message = claim_one();
    EXPECT_THAT(work().fail(leases_of(message), "no such account"), ElementsAre(Settled::dead));
    const Message after = get(message.id);
    EXPECT_EQ(after.state, State::dead);
    EXPECT_EQ(after.last_error, "no such account");
    EXPECT_EQ(after.dead_reason, DeadReason::failed);
}

TEST_P(SettleLaw, OBX_046_OBX_047_IBX_062_IBX_063_FailOfAnotherOwnersLeaseChangesNothing) {
    put();
    const Message message = claim_one();
    const std::vector<WorkItemId> ids{message.id, WorkItemId(4711, 4711)};
    EXPECT_EQ(work().fail(other, ids, "not mine"), 0U);
    EXPECT_EQ(get(message.id).state, State::in_progress);
}

TEST_P(SettleLaw, OBX_048_IBX_064_IBX_065_AFailedMessageIsNeverClaimedAgainAndHoldsNoLease) {
    put();
    const Message message = claim_one(short_lease);
    work().fail(leases_of(message), "x");
    pass(after_short_lease);
    EXPECT_EQ(work().reap_expired(), 0U);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_FALSE(get(message.id).lease.has_value());
}

TEST_P(SettleLaw, IBX_049_ADoneMessageHoldsNoLease) {
    put();
    const Message message = claim_one();
    work().ack(leases_of(message));
    const std::vector<Message> found =
        store().find(queue(), {.message_id = message.message_id.str()});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_FALSE(found[0].lease.has_value());
}

TEST_P(SettleLaw, IBX_067_FailTakesTheErrorByValueSoThatItCannotBeMissing) {
    put();
    const Message message = claim_one();
    const std::vector<WorkItemId> ids{message.id};
    EXPECT_EQ(work().fail(me, ids, std::string_view()), 1U);
    EXPECT_EQ(get(message.id).state, State::dead);
}

TEST_P(SettleLaw, SuccessClearsTheErrorInTheOutboxAndTheInboxRemembersIt) {
    put();
    work().abandon(leases_of(claim_one()), "first try", 1ms);
    pass(5ms);
    const Message message = claim_one();
    EXPECT_EQ(message.last_error, "first try");
    work().ack(leases_of(message));
    const std::vector<Message> found =
        store().find(queue(), {.message_id = message.message_id.str()});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].last_error, queue() == Queue::outbox ? "" : "first try");
    EXPECT_EQ(found[0].retry_count, 1U);
}

TEST_P(SettleLaw, LongErrorsAreCutOnACharacterBoundary) {
    put();
    std::string error;
    for (int i = 0; i < 5000; ++i) error += "\xE2\x82\xAC";  // the euro sign, three bytes
    const Message message = claim_one();
    work().fail(leases_of(message), error);
    EXPECT_EQ(get(message.id).last_error, error.substr(0, 4000 * 3));
}

TEST_P(SettleLaw, ErrorsThatAreNoTextAreKeptReadable) {
    put_many(2);
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(2));
    work().fail(leases_of(claimed[0]), std::string_view("a\0b", 3));
    work().fail(leases_of(claimed[1]), "broken \xFF byte");
    EXPECT_EQ(get(claimed[0].id).state, State::dead);
    EXPECT_EQ(get(claimed[1].id).state, State::dead);
    EXPECT_THAT(get(claimed[1].id).last_error, testing::StartsWith("broken "));
}

TEST_P(SettleLaw, ReleaseGivesTheMessageBackAtOnceAndCostsNoAttempt) {
    put();
    const Message message = claim_one();
    EXPECT_THAT(work().release(leases_of(message)), ElementsAre(Settled::ready));
    const Message again = claim_one();
    EXPECT_EQ(again.id, message.id);
    EXPECT_EQ(again.retry_count, 0U);
    EXPECT_EQ(again.lost_count, 0U);
    EXPECT_EQ(again.last_error, "");
}

TEST_P(SettleLaw, ResultsComeInTheOrderOfTheLeases) {
    put_many(4);
    const std::vector<Lease> leases = leases_of(claim());
    ASSERT_THAT(leases, SizeIs(4));
    work().ack(std::array{leases[2]});
    const std::vector<Settlement> mixed{
        {.lease = leases[0], .outcome = Outcome::ack},
        {.lease = leases[1], .outcome = Outcome::fail, .error = "x"},
        {.lease = leases[2], .outcome = Outcome::ack},
        {.lease = leases[3], .outcome = Outcome::abandon, .delay = 1s},
    };
    EXPECT_THAT(store().settle(nullptr, queue(), mixed),
                ElementsAre(Settled::done, Settled::dead, Settled::lost, Settled::ready));
}

TEST_P(SettleLaw, AWrongNonceChangesNothing) {
    put();
    const Message message = claim_one();
    Lease forged = *message.lease;
    forged.id = WorkItemId(forged.id.seq(), forged.id.nonce() + 1);
    const std::vector<Lease> leases{forged};
    EXPECT_THAT(work().ack(leases), ElementsAre(Settled::lost));
    EXPECT_THAT(work().abandon(leases, "x"), ElementsAre(Settled::lost));
    EXPECT_THAT(work().fail(leases, "x"), ElementsAre(Settled::lost));
    EXPECT_THAT(work().release(leases), ElementsAre(Settled::lost));
    EXPECT_THAT(work().extend(leases, 30s), ElementsAre(false));
    const std::vector<WorkItemId> ids{forged.id};
    EXPECT_EQ(work().ack(me, ids), 0U);
    EXPECT_EQ(work().redrive(ids), 0U);
    EXPECT_FALSE(work().get(forged.id).has_value());
    EXPECT_EQ(get(message.id).state, State::in_progress);
    EXPECT_EQ(get(message.id).retry_count, 0U);
}

TEST_P(SettleLaw, OBX_080_IBX_102_ASettlementInARolledBackTransactionDidNotHappen) {
    put_many(2);
    const std::vector<Message> claimed = claim(me, 2, short_lease);
    ASSERT_THAT(claimed, SizeIs(2));
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_THAT(work().ack(*tx, leases_of(claimed)), Each(Settled::done));
        tx->rollback();
    }
    EXPECT_EQ(store().counts(queue()).dead, 0U);
    pass(after_short_lease);
    EXPECT_THAT(claim(), SizeIs(2));
}

TEST_P(SettleLaw, ASettlementInACommittedTransactionHolds) {
    put_many(3);
    const std::vector<Message> claimed = claim();
    ASSERT_THAT(claimed, SizeIs(3));
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_THAT(work().ack(*tx, leases_of(claimed[0])), ElementsAre(Settled::done));
    EXPECT_THAT(work().abandon(*tx, leases_of(claimed[1]), "again", 1h),
                ElementsAre(Settled::ready));
    EXPECT_THAT(work().fail(*tx, leases_of(claimed[2]), "x"), ElementsAre(Settled::dead));
    tx->commit();
    const Counts counts = store().counts(queue());
    EXPECT_EQ(counts.in_progress, 0U);
    EXPECT_EQ(counts.ready, 1U);
    EXPECT_EQ(counts.dead, 1U);
}

}  // namespace
}  // namespace postroom::test
