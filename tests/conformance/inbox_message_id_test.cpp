// Settling and looking up by the sender's message id, as the inbox specification has it.
#include "conformance/law.hpp"

namespace postroom::test::message_ids {
namespace {

using namespace std::chrono_literals;

using Ids = std::vector<std::string>;

ReceivedMessage received(const std::string& message_id, const std::string& source = "shop") {
    return {.topic = "t", .source = source, .message_id = message_id, .payload = source};
}

TEST_P(MessageIdLaw, IBX_044_AckByMessageIdMakesItDone) {
    inbox().enqueue(received("m"));
    claim_one();
    EXPECT_EQ(inbox().ack(me, Ids{"m"}), 1U);
    EXPECT_TRUE(inbox().already_processed({.source = "shop", .message_id = "m"}));
    EXPECT_EQ(inbox().ack(me, Ids{"m"}), 0U);
}

TEST_P(MessageIdLaw,
       IBX_045_IBX_046_IBX_054_IBX_055_IBX_062_IBX_063_OthersAndUnknownIdsAreIgnored) {
    inbox().enqueue(received("m"));
    claim_one();
    EXPECT_EQ(inbox().ack(other, Ids{"m", "nobody"}), 0U);
    EXPECT_EQ(inbox().abandon(other, Ids{"m", "nobody"}, "x"), 0U);
    EXPECT_EQ(inbox().fail(other, Ids{"m", "nobody"}, "x"), 0U);
    EXPECT_EQ(inbox().get(MessageId("m"))->state, State::in_progress);
    EXPECT_EQ(inbox().ack(me, Ids{"nobody", "m"}), 1U);
}

TEST_P(MessageIdLaw, IBX_048_IBX_059_IBX_066_NoMessageIdsIsANoOp) {
    EXPECT_EQ(inbox().ack(me, Ids{}), 0U);
    EXPECT_EQ(inbox().abandon(me, Ids{}), 0U);
    EXPECT_EQ(inbox().fail(me, Ids{}, "x"), 0U);
}

TEST_P(MessageIdLaw, RepeatedMessageIdsAreToleratedAndCountedOnce) {
    inbox().enqueue_all(std::vector{received("a"), received("b"), received("c")});
    ASSERT_THAT(claim(), SizeIs(3));
    EXPECT_EQ(inbox().ack(me, Ids{"a", "a"}), 1U);
    EXPECT_EQ(inbox().abandon(me, Ids{"b", "b"}, "x"), 1U);
    EXPECT_EQ(inbox().fail(me, Ids{"c", "c"}, "x"), 1U);
    EXPECT_EQ(inbox().get(MessageId("b"))->retry_count, 1U);
}

TEST_P(MessageIdLaw,
       IBX_050_IBX_051_IBX_053_IBX_057_AbandonByMessageIdCountsDelaysAndKeepsTheError) {
    inbox().enqueue(received("m"));
    claim_one();
    const Instant before = now();
    EXPECT_EQ(inbox().abandon(me, Ids{"m"}, "busy", 17s), 1U);
    const Message message = inbox().get(MessageId("m")).value();
    EXPECT_EQ(message.state, State::ready);
    EXPECT_EQ(message.retry_count, 1U);
    EXPECT_EQ(message.last_error, "busy");
    EXPECT_GE(message.available_at, before + 17s);
    EXPECT_LE(message.available_at, now() + 17s);
    EXPECT_FALSE(message.lease.has_value());
}

TEST_P(MessageIdLaw, IBX_058_ADelayOfZeroOrLessIsOutOfRange) {
    inbox().enqueue(received("m"));
    claim_one();
    EXPECT_THROW(inbox().abandon(me, Ids{"m"}, "x", 0s), std::out_of_range);
    EXPECT_THROW(inbox().abandon(me, Ids{"m"}, "x", -1s), std::out_of_range);
    EXPECT_EQ(inbox().get(MessageId("m"))->state, State::in_progress);
}

TEST_P(MessageIdLaw, IBX_060_IBX_061_FailByMessageIdMakesItDeadWithItsError) {
    inbox().enqueue(received("m"));
    claim_one();
    EXPECT_EQ(inbox().fail(me, Ids{"m"}, "broken"), 1U);
    EXPECT_EQ(inbox().get(MessageId("m"))->state, State::dead);
    EXPECT_EQ(inbox().get(MessageId("m"))->last_error, "broken");
}

TEST_P(MessageIdLaw, IBX_130_TheNilOwnerIsRefused) {
    EXPECT_THROW(inbox().ack(OwnerToken(), Ids{"m"}), std::invalid_argument);
    EXPECT_THROW(inbox().abandon(OwnerToken(), Ids{"m"}), std::invalid_argument);
    EXPECT_THROW(inbox().fail(OwnerToken(), Ids{"m"}, "x"), std::invalid_argument);
}

TEST_P(MessageIdLaw, AnIdThatTheOwnerHoldsFromTwoSourcesIsMisuse) {
    inbox().enqueue(received("m", "shop"));
    inbox().enqueue(received("m", "bank"));
    ASSERT_THAT(claim(), SizeIs(2));
    EXPECT_EQ(kind_thrown([&] { inbox().ack(me, Ids{"m"}); }), ErrorKind::misuse);
    EXPECT_EQ(store().counts(Queue::inbox).in_progress, 2U);
}

TEST_P(MessageIdLaw, AnIdIsResolvedAmongTheOwnersLeasesOnly) {
    inbox().enqueue(received("m", "shop"));
    const Message mine = claim_one();
    inbox().enqueue(received("m", "bank"));
    ASSERT_THAT(claim(other), SizeIs(1));
    EXPECT_EQ(inbox().ack(me, Ids{"m"}), 1U);
    EXPECT_TRUE(inbox().already_processed({.source = "shop", .message_id = "m"}));
    EXPECT_FALSE(inbox().already_processed({.source = "bank", .message_id = "m"}));
}

TEST_P(MessageIdLaw, GetFindsAMessageByItsIdAndReportsAmbiguity) {
    EXPECT_FALSE(inbox().get(MessageId("m")).has_value());
    inbox().enqueue(received("m", "shop"));
    EXPECT_EQ(inbox().get(MessageId("m"))->source, "shop");
    (void)inbox().already_processed({.source = "bank", .message_id = "m"});
    EXPECT_EQ(kind_thrown([&] { inbox().get(MessageId("m")); }), ErrorKind::misuse);
    EXPECT_EQ(inbox().get({.source = "shop", .message_id = "m"})->state, State::ready);
    EXPECT_EQ(inbox().get({.source = "bank", .message_id = "m"})->state, State::seen);
    EXPECT_FALSE(inbox().get({.source = "nobody", .message_id = "m"}).has_value());
}

TEST_P(MessageIdLaw, IBX_036_AClaimTellsSourceAndMessageId) {
    inbox().enqueue(received("m", "shop"));
    const Message message = claim_one();
    EXPECT_EQ(message.message_id.str(), "m");
    EXPECT_EQ(message.source, "shop");
    EXPECT_TRUE(message.last_seen.has_value());
}

TEST_P(MessageIdLaw, MessageIdsOf255CharactersAreKept) {
    std::string id;
    for (int i = 0; i < 255; ++i) id += "\xF0\x9F\x93\xAE";
    inbox().enqueue(received(id, id));
    EXPECT_EQ(claim_one().message_id.str(), id);
    EXPECT_EQ(inbox().ack(me, Ids{id}), 1U);
    EXPECT_TRUE(inbox().already_processed({.source = id, .message_id = id}));
}

}  // namespace
}  // namespace postroom::test::message_ids
