// Settling what claim() returned: the messages themselves, one or many, without collecting leases.
#include <memory>
#include <span>
#include <vector>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(SettleLaw, ClaimedMessagesAreAcknowledgedInOneCall) {
    put_many(3);
    const std::vector<Message> claimed = claim(3);
    EXPECT_THAT(work().ack(claimed), ElementsAre(Settled::done, Settled::done, Settled::done));
    EXPECT_THAT(claim(), testing::IsEmpty());
    EXPECT_EQ(work().counts().in_progress, 0U);
    EXPECT_THAT(work().ack(claimed), ElementsAre(Settled::lost, Settled::lost, Settled::lost));
}

TEST_P(SettleLaw, OneMessageIsSettledByItself) {
    put_many(4);
    const std::vector<Message> claimed = claim(4);
    EXPECT_TRUE(work().extend(claimed[0], 1h));
    EXPECT_EQ(work().ack(claimed[0]), Settled::done);
    EXPECT_FALSE(work().extend(claimed[0], 1h));
    EXPECT_EQ(work().abandon(claimed[1], "again", 1h), Settled::ready);
    EXPECT_EQ(work().fail(claimed[2], "broken"), Settled::dead);
    EXPECT_EQ(work().release(claimed[3]), Settled::ready);
    EXPECT_EQ(get(claimed[1].id).retry_count, 1U);
    EXPECT_EQ(get(claimed[2].id).last_error, "broken");
    EXPECT_EQ(get(claimed[3].id).retry_count, 0U);
    EXPECT_EQ(work().ack(claimed[3].lease.value()), Settled::lost);
}

TEST_P(SettleLaw, ManyMessagesAreExtendedAbandonedFailedAndReleased) {
    put_many(6);
    const std::vector<Message> claimed = claim(6);
    EXPECT_THAT(work().extend(claimed, 1h), testing::Each(true));
    const std::span<const Message> all = claimed;
    EXPECT_THAT(work().abandon(all.subspan(0, 2), "again", 1h),
                ElementsAre(Settled::ready, Settled::ready));
    EXPECT_THAT(work().fail(all.subspan(2, 2), "broken"),
                ElementsAre(Settled::dead, Settled::dead));
    EXPECT_THAT(work().release(all.subspan(4, 2)), ElementsAre(Settled::ready, Settled::ready));
    EXPECT_THAT(claim(), testing::SizeIs(2));
}

TEST_P(SettleLaw, MessagesAreSettledWithATransactionThatComesFirst) {
    put_many(4);
    const std::vector<Message> claimed = claim(4);
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_EQ(work().ack(*tx, claimed[0]), Settled::done);
        tx->rollback();
    }
    EXPECT_EQ(get(claimed[0].id).state, State::in_progress);
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_THAT(work().ack(*tx, std::span(claimed).first(2)),
                ElementsAre(Settled::done, Settled::done));
    EXPECT_EQ(work().abandon(*tx, claimed[2], "again", 1h), Settled::ready);
    EXPECT_EQ(work().fail(*tx, claimed[3], "broken"), Settled::dead);
    tx->commit();
    EXPECT_EQ(work().ack(claimed[1]), Settled::lost);
    EXPECT_EQ(work().counts().in_progress, 0U);
    EXPECT_EQ(get(claimed[2].id).state, State::ready);
    EXPECT_EQ(get(claimed[3].id).state, State::dead);
}

TEST_P(SettleLaw, AMessageThatWasNotClaimedCannotBeSettled) {
    const WorkItemId id = put();
    const Message unclaimed = get(id);
    EXPECT_EQ(kind_thrown([&] { work().ack(unclaimed); }), ErrorKind::misuse);
    EXPECT_EQ(kind_thrown([&] { (void)work().extend(std::vector{unclaimed}, 1h); }),
              ErrorKind::misuse);
    EXPECT_EQ(get(id).state, State::ready);
}

}  // namespace
}  // namespace postroom::test
