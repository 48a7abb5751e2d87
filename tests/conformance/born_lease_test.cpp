// Messages that are leased from birth: the writer delivers them itself, everybody else waits.
#include "conformance/law.hpp"
#include "queue/hot_path.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class Birth {
public:
    Birth(Store& store, const OwnerToken& owner) : store_(store), owner_(owner) {}

    Lease bear(Duration lease) {
        const NewMessage message{.topic = "t",
                                 .payload = "p",
                                 .message_id = MessageId("born-" + std::to_string(++count_))};
        const BornLease born{
            .owner = owner_, .lease_id = LeaseId(1'000'000 + count_), .lease = lease};
        const EnqueueResult stored = store_.enqueue(nullptr, std::span(&message, 1), &born).at(0);
        return {.id = stored.id, .lease_id = born.lease_id, .owner = owner_};
    }

private:
    Store& store_;
    OwnerToken owner_;
    std::int64_t count_ = 0;
};

TEST_P(BornLeaseLaw, AMessageBornLeasedIsNotClaimable) {
    const Lease lease = Birth(store(), me).bear(long_lease);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_THAT(claim(other), IsEmpty());
    EXPECT_EQ(get(lease.id).state, State::in_progress);
    EXPECT_EQ(store().counts(Queue::outbox).in_progress, 1U);
}

// The very first number of a queue must not count as handled because claims came before it.
TEST_P(BornLeaseLaw, TheFirstMessageIsTakenOverAlsoWhenClaimsFoundNothingBeforeIt) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(claim(), IsEmpty());
        pass(10ms);
    }
    const Lease lease = Birth(store(), me).bear(short_lease);
    pass(after_short_lease);
    EXPECT_THAT(ids_of(claim(other)), ElementsAre(lease.id));
}

TEST_P(BornLeaseLaw, InATransactionOfItsOwnItIsWrittenAtTheTopLevel) {
    const std::vector<NewMessage> messages{
        {.topic = "t", .payload = "p", .message_id = MessageId("a")},
        {.topic = "t", .payload = "p", .message_id = MessageId("b")}};
    const BornLease born{.owner = me, .lease_id = LeaseId(7), .lease = long_lease};
    for (const EnqueueResult& stored : store().enqueue(nullptr, messages, &born))
        EXPECT_TRUE(stored.top_level);
}

TEST_P(BornLeaseLaw, TheWriterSettlesByItsLease) {
    Birth birth(store(), me);
    const std::vector<Lease> leases{birth.bear(long_lease), birth.bear(long_lease),
                                    birth.bear(long_lease), birth.bear(long_lease)};
    EXPECT_THAT(outbox().ack(std::span(&leases[0], 1)), ElementsAre(Settled::done));
    EXPECT_THAT(outbox().abandon(std::span(&leases[1], 1), "x", 1h), ElementsAre(Settled::ready));
    EXPECT_THAT(outbox().fail(std::span(&leases[2], 1), "x"), ElementsAre(Settled::dead));
    EXPECT_THAT(outbox().release(std::span(&leases[3], 1)), ElementsAre(Settled::ready));
    EXPECT_EQ(get(leases[1].id).retry_count, 1U);
    EXPECT_EQ(get(leases[0].id).processed_by, me.to_string());
    EXPECT_THAT(ids_of(claim()), ElementsAre(leases[3].id));
}

TEST_P(BornLeaseLaw, AWrongLeaseIdSettlesNothing) {
    Lease lease = Birth(store(), me).bear(long_lease);
    lease.lease_id = LeaseId(lease.lease_id.value() + 1);
    const std::vector<Lease> leases{lease};
    EXPECT_THAT(outbox().ack(leases), ElementsAre(Settled::lost));
    EXPECT_THAT(outbox().fail(leases, "x"), ElementsAre(Settled::lost));
    EXPECT_THAT(outbox().extend(leases, 30s), ElementsAre(false));
    EXPECT_EQ(get(lease.id).state, State::in_progress);
}

TEST_P(BornLeaseLaw, AfterExpiryTheMessageIsClaimableWithOneLoss) {
    const Lease lease = Birth(store(), me).bear(short_lease);
    pass(after_short_lease);
    const std::vector<Message> claimed = claim(other);
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0].id, lease.id);
    EXPECT_EQ(claimed[0].lost_count, 1U);
    EXPECT_EQ(claimed[0].lease->owner, other);
}

TEST_P(BornLeaseLaw, AStaleAckAfterTakeOverChangesNothing) {
    const std::vector<Lease> stale{Birth(store(), me).bear(short_lease)};
    pass(after_short_lease);
    const std::vector<Message> claimed = claim(me);
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_THAT(outbox().ack(stale), ElementsAre(Settled::lost));
    EXPECT_THAT(outbox().extend(stale, 30s), ElementsAre(false));
    EXPECT_EQ(get(claimed[0].id).state, State::in_progress);
    EXPECT_THAT(outbox().ack(leases_of(claimed)), ElementsAre(Settled::done));
}

TEST_P(BornLeaseLaw, AStaleAckAfterAReapChangesNothing) {
    const std::vector<Lease> stale{Birth(store(), me).bear(short_lease)};
    pass(after_short_lease);
    EXPECT_EQ(outbox().reap_expired(), 1U);
    EXPECT_EQ(get(stale[0].id).lost_count, 1U);
    EXPECT_THAT(outbox().ack(stale), ElementsAre(Settled::lost));
}

TEST_P(BornLeaseLaw, AnAckAfterExpiryButBeforeTakeOverSucceeds) {
    const std::vector<Lease> late{Birth(store(), me).bear(short_lease)};
    pass(after_short_lease);
    EXPECT_THAT(outbox().ack(late), ElementsAre(Settled::done));
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(BornLeaseLaw, ExtendTurnsItIntoAnOrdinaryLease) {
    const std::vector<Lease> leases{Birth(store(), me).bear(short_lease)};
    const Instant before = now();
    EXPECT_THAT(outbox().extend(leases, 5min), ElementsAre(true));
    EXPECT_GE(get(leases[0].id).lease->locked_until, before + 5min);
    pass(after_short_lease);
    EXPECT_EQ(outbox().reap_expired(), 0U);
    EXPECT_THAT(claim(other), IsEmpty());
    EXPECT_THAT(outbox().extend(leases, 6min), ElementsAre(true));
    EXPECT_THAT(outbox().ack(leases), ElementsAre(Settled::done));
    EXPECT_THAT(outbox().ack(leases), ElementsAre(Settled::lost));
}

TEST_P(BornLeaseLaw, AnExtendedLeaseEndsLikeAnyOther) {
    const std::vector<Lease> leases{Birth(store(), me).bear(long_lease)};
    EXPECT_THAT(outbox().extend(leases, short_lease), ElementsAre(true));
    pass(after_short_lease);
    const std::vector<Message> claimed = claim(other);
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0].lost_count, 1U);
    EXPECT_THAT(outbox().ack(leases), ElementsAre(Settled::lost));
}

TEST_P(BornLeaseLaw, ARollbackTakesTheMessageAndItsLeaseAway) {
    const NewMessage message{.topic = "t", .payload = "p", .message_id = MessageId("born-1")};
    const BornLease born{.owner = me, .lease_id = LeaseId(77), .lease = long_lease};
    const std::unique_ptr<Transaction> tx = store().begin();
    const EnqueueResult stored = store().enqueue(tx.get(), std::span(&message, 1), &born).at(0);
    tx->rollback();
    const std::vector<Lease> leases{{.id = stored.id, .lease_id = born.lease_id, .owner = me}};
    EXPECT_THAT(outbox().ack(leases), ElementsAre(Settled::lost));
    EXPECT_FALSE(outbox().get(stored.id).has_value());
}

TEST_P(BornLeaseLaw, ByOwnerAndIdItIsSettledToo) {
    const Lease lease = Birth(store(), me).bear(long_lease);
    const std::vector<WorkItemId> ids{lease.id};
    EXPECT_EQ(outbox().ack(other, ids), 0U);
    EXPECT_EQ(outbox().ack(me, ids), 1U);
}

// Only the database may judge a due time, and its message waits elsewhere.
TEST_P(BornLeaseLaw, AMessageWithADueTimeIsNotBornLeased) {
    const NewMessage message{
        .topic = "t", .payload = "p", .message_id = MessageId("born-1"), .due_time = now() + 1h};
    const BornLease born{.owner = me, .lease_id = LeaseId(78), .lease = long_lease};
    EXPECT_ANY_THROW(store().enqueue(nullptr, std::span(&message, 1), &born));
    EXPECT_THAT(store().find(Queue::outbox, {}), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
