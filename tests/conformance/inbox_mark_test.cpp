// mark_processing, mark_processed, mark_dead: the state set by hand, from any state but done.
#include "conformance/inbox_states.hpp"
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

InboxKey key_of(Situation situation) { return {"shop", to_string(situation)}; }

bool is_done(Situation situation) {
    return situation == Situation::done || situation == Situation::done_unqueued;
}

TEST_P(MarkLaw, MarkProcessedMakesEveryMessageDone) {
    for (const Situation situation : all_situations) {
        SCOPED_TRACE(to_string(situation));
        const InboxKey key = key_of(situation);
        bring(inbox(), me, key, situation);
        const bool there = situation != Situation::absent;
        EXPECT_EQ(inbox().mark_processed(key.message_id, key.source), there);
        EXPECT_EQ(inbox().get(key.message_id).has_value(), there);
        if (!there) continue;
        EXPECT_EQ(inbox().get(key.message_id)->state, State::done);
        EXPECT_FALSE(inbox().get(key.message_id)->lease.has_value());
        EXPECT_TRUE(inbox().get(key.message_id)->processed_at.has_value());
        EXPECT_TRUE(inbox().already_processed(key.message_id, key.source));
        EXPECT_THAT(claim(), IsEmpty());
    }
}

TEST_P(MarkLaw, MarkDeadMakesEveryMessageDeadButTheDone) {
    for (const Situation situation : all_situations) {
        SCOPED_TRACE(to_string(situation));
        const InboxKey key = key_of(situation);
        bring(inbox(), me, key, situation);
        const bool there = situation != Situation::absent;
        EXPECT_EQ(inbox().mark_dead(key.message_id, key.source, "by hand"), there);
        if (!there) continue;
        const Message message = inbox().get(key.message_id).value();
        EXPECT_EQ(message.state, is_done(situation) ? State::done : State::dead);
        if (!is_done(situation)) {
            EXPECT_EQ(message.last_error, "by hand");
        }
        EXPECT_FALSE(message.lease.has_value());
        EXPECT_EQ(inbox().already_processed(key.message_id, key.source), is_done(situation));
        EXPECT_THAT(claim(), IsEmpty());
    }
}

TEST_P(MarkLaw, MarkProcessingMakesWhatHasContentClaimable) {
    for (const Situation situation : all_situations) {
        SCOPED_TRACE(to_string(situation));
        const InboxKey key = key_of(situation);
        bring(inbox(), me, key, situation);
        const bool there = situation != Situation::absent;
        EXPECT_EQ(inbox().mark_processing(key.message_id, key.source), there);
        if (!there) continue;
        EXPECT_EQ(inbox().get(key.message_id)->state,
                  is_done(situation) ? State::done : State::ready);
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
    EXPECT_TRUE(inbox().mark_dead(key.message_id, "shop", "x"));
    EXPECT_THAT(inbox().ack(leases_of(claimed)), ElementsAre(Settled::lost));
    EXPECT_EQ(inbox().get(key.message_id)->state, State::dead);
}

TEST_P(MarkLaw, AMarkOfAnUnknownMessageSaysSo) {
    EXPECT_FALSE(inbox().mark_processing("nobody", "shop"));
    EXPECT_FALSE(inbox().mark_processed("nobody", "shop"));
    EXPECT_FALSE(inbox().mark_dead("nobody", "shop", "x"));
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
}

TEST_P(MarkLaw, AMarkIsPartOfTheCallersTransaction) {
    inbox().already_processed("m", "shop");
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_TRUE(inbox().mark_processed("m", "shop", tx.get()));
        tx->rollback();
    }
    EXPECT_EQ(inbox().get("m")->state, State::seen);
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_TRUE(inbox().mark_processed("m", "shop", tx.get()));
    tx->commit();
    EXPECT_EQ(inbox().get("m")->state, State::done);
}

TEST_P(MarkLaw, ADeadMessageThatNeverHadContentCanBeReceived) {
    bring(inbox(), me, {"shop", "m"}, Situation::dead_unqueued);
    inbox().enqueue({.topic = "t", .source = "shop", .message_id = "m", .payload = "p"}, nullptr,
                    true);
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
