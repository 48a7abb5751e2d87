// mark_processing, mark_processed, mark_dead: the state set by hand, from any state but done.
#include "conformance/inbox_states.hpp"
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

InboxKey key_of(Situation situation) {
    return {.source = "shop", .message_id = to_string(situation)};
}

bool is_done(Situation situation) {
    return situation == Situation::done || situation == Situation::done_unqueued;
}

TEST_P(MarkLaw, MarkProcessedMakesEveryMessageDone) {
    for (const Situation situation : all_situations) {
        SCOPED_TRACE(to_string(situation));
        const InboxKey key = key_of(situation);
        bring(inbox(), me, key, situation);
        const bool there = situation != Situation::absent;
        EXPECT_EQ(inbox().mark_processed(key), there);
        EXPECT_EQ(inbox().get(key).has_value(), there);
        if (!there) continue;
        EXPECT_EQ(inbox().get(key)->state, State::done);
        EXPECT_FALSE(inbox().get(key)->lease.has_value());
        EXPECT_TRUE(inbox().get(key)->processed_at.has_value());
        EXPECT_TRUE(inbox().already_processed(key));
        EXPECT_THAT(claim(), IsEmpty());
    }
}

TEST_P(MarkLaw, MarkDeadMakesEveryMessageDeadButTheDone) {
    for (const Situation situation : all_situations) {
        SCOPED_TRACE(to_string(situation));
        const InboxKey key = key_of(situation);
        bring(inbox(), me, key, situation);
        const bool there = situation != Situation::absent;
        EXPECT_EQ(inbox().mark_dead(key, "by hand"), there);
        if (!there) continue;
        const Message message = inbox().get(key).value();
        EXPECT_EQ(message.state, is_done(situation) ? State::done : State::dead);
        if (!is_done(situation)) {
            EXPECT_EQ(message.last_error, "by hand");
        }
        EXPECT_FALSE(message.lease.has_value());
        EXPECT_EQ(inbox().already_processed(key), is_done(situation));
        EXPECT_THAT(claim(), IsEmpty());
    }
}

TEST_P(MarkLaw, MarkProcessingMakesWhatHasContentClaimable) {
    for (const Situation situation : all_situations) {
        SCOPED_TRACE(to_string(situation));
        const InboxKey key = key_of(situation);
        bring(inbox(), me, key, situation);
        const bool there = situation != Situation::absent;
        EXPECT_EQ(inbox().mark_processing(key), there);
        if (!there) continue;
        EXPECT_EQ(inbox().get(key)->state, is_done(situation) ? State::done : State::ready);
        const bool has_content = situation == Situation::ready ||
                                 situation == Situation::retrying ||
                                 situation == Situation::leased || situation == Situation::dead;
        const std::vector<Message> claimed = claim(other);
        EXPECT_THAT(claimed, SizeIs(has_content ? 1U : 0U));
        inbox().ack(leases_of(claimed));
    }
}

TEST_P(MarkLaw, AMarkDropsTheLease) {
    const InboxKey key = key_of(Situation::leased);
    inbox().enqueue({.topic = "t", .source = "shop", .message_id = key.message_id, .payload = "p"});
    const Message claimed = claim_one();
    EXPECT_TRUE(inbox().mark_dead(key, "x"));
    EXPECT_THAT(inbox().ack(leases_of(claimed)), ElementsAre(Settled::lost));
    EXPECT_EQ(inbox().get(key)->state, State::dead);
}

TEST_P(MarkLaw, AMarkOfAnUnknownMessageSaysSo) {
    EXPECT_FALSE(inbox().mark_processing({.source = "shop", .message_id = "nobody"}));
    EXPECT_FALSE(inbox().mark_processed({.source = "shop", .message_id = "nobody"}));
    EXPECT_FALSE(inbox().mark_dead({.source = "shop", .message_id = "nobody"}, "x"));
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
}

TEST_P(MarkLaw, AMarkIsPartOfTheCallersTransaction) {
    (void)inbox().already_processed({.source = "shop", .message_id = "m"});
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_TRUE(inbox().mark_processed(*tx, {.source = "shop", .message_id = "m"}));
        tx->rollback();
    }
    EXPECT_EQ(inbox().get(MessageId("m"))->state, State::seen);
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_TRUE(inbox().mark_processed(*tx, {.source = "shop", .message_id = "m"}));
    tx->commit();
    EXPECT_EQ(inbox().get(MessageId("m"))->state, State::done);
}

TEST_P(MarkLaw, ADeadMessageThatNeverHadContentCanBeReceived) {
    bring(inbox(), me, {.source = "shop", .message_id = "m"}, Situation::dead_unqueued);
    inbox().enqueue({.topic = "t", .source = "shop", .message_id = "m", .payload = "p"},
                    Revive::yes);
    EXPECT_EQ(claim_one().payload, "p");
}

TEST_P(MarkLaw, IBX_031_OnlyEnqueuedMessagesAreClaimed) {
    for (const Situation situation : {Situation::seen, Situation::marked, Situation::done_unqueued,
                                      Situation::dead_unqueued, Situation::done, Situation::dead})
        bring(inbox(), me, key_of(situation), situation);
    EXPECT_THAT(claim(), IsEmpty());
    EXPECT_EQ(inbox().reap_expired(), 0U);
}

TEST_P(MarkLaw, EveryStateHasTheNameOfTheSpecification) {
    EXPECT_EQ(state_name(Queue::inbox, State::seen), "Seen");
    EXPECT_EQ(state_name(Queue::inbox, State::ready), "Processing");
    EXPECT_EQ(state_name(Queue::inbox, State::in_progress), "Processing");
    EXPECT_EQ(state_name(Queue::inbox, State::done), "Done");
    EXPECT_EQ(state_name(Queue::inbox, State::dead), "Dead");
}

}  // namespace
}  // namespace postroom::test
