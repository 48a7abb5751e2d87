// Looking: find, paging and counts, which change nothing.
#include <algorithm>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(QueryLaw, FindByIdReturnsTheMessagesInOrderOfSeq) {
    std::vector<WorkItemId> ids = put_many(5);
    std::sort(ids.begin(), ids.end());
    const std::vector<Message> found = store().find(queue(), {.ids = {ids[3], ids[0], ids[3]}});
    EXPECT_THAT(ids_of(found), ElementsAreArray({ids[0], ids[3]}));
}

TEST_P(QueryLaw, FindPagesThroughEverythingByKey) {
    std::vector<WorkItemId> ids = put_many(10);
    std::sort(ids.begin(), ids.end());
    work().fail(leases_of(claim(2)), "x");
    work().abandon(leases_of(claim(2)), "x", 1h);
    std::vector<WorkItemId> found;
    std::uint64_t after = 0;
    while (true) {
        const std::vector<Message> page = store().find(queue(), {.after_seq = after, .limit = 3});
        if (page.empty()) break;
        EXPECT_LE(page.size(), 3U);
        for (const Message& message : page) {
            EXPECT_GT(message.id.seq(), after);
            after = message.id.seq();
            found.push_back(message.id);
        }
    }
    EXPECT_THAT(found, ElementsAreArray(ids));
}

TEST_P(QueryLaw, FindSelectsByTopicStateAndOwner) {
    put_many(3, {.topic = "a"});
    put_many(2, {.topic = "b"});
    const std::vector<Message> mine = claim(me, 2);
    ASSERT_THAT(mine, SizeIs(2));
    EXPECT_THAT(store().find(queue(), {.topic = "b"}), SizeIs(2));
    EXPECT_THAT(store().find(queue(), {.state = State::in_progress}), SizeIs(2));
    EXPECT_THAT(store().find(queue(), {.state = State::ready}), SizeIs(3));
    EXPECT_THAT(ids_of(store().find(queue(), {.owner = me})), ElementsAreArray(ids_of(mine)));
    EXPECT_THAT(store().find(queue(), {.owner = other}), IsEmpty());
    EXPECT_THAT(store().find(queue(), {.topic = "b", .state = State::in_progress}), IsEmpty());
}

TEST_P(QueryLaw, FindByMessageIdFindsItInEveryState) {
    put();
    const Message message = claim_one();
    const Query by_message_id{.message_id = message.message_id.str()};
    EXPECT_EQ(store().find(queue(), by_message_id).at(0).state, State::in_progress);
    work().abandon(leases_of(message), "x", 1ms);
    EXPECT_EQ(store().find(queue(), by_message_id).at(0).state, State::ready);
    pass(5ms);
    work().fail(leases_of(claim_one()), "x");
    EXPECT_EQ(store().find(queue(), by_message_id).at(0).state, State::dead);
    work().redrive(std::vector<WorkItemId>{message.id});
    work().ack(leases_of(claim_one()));
    EXPECT_EQ(store().find(queue(), by_message_id).at(0).state, State::done);
}

TEST_P(QueryLaw, GetOfAnUnknownIdIsNothing) {
    EXPECT_FALSE(work().get(WorkItemId(1, 1)).has_value());
    EXPECT_FALSE(work().get(WorkItemId()).has_value());
}

TEST_P(QueryLaw, CountsFollowTheMessages) {
    EXPECT_EQ(store().counts(queue()).ready, 0U);
    EXPECT_FALSE(store().counts(queue()).oldest.has_value());
    const Instant before = now();
    put_many(6);
    put({.due_time = now() + 1h});
    const std::vector<Message> claimed = claim(4);
    ASSERT_THAT(claimed, SizeIs(4));
    work().ack(leases_of(claimed[0]));
    work().fail(leases_of(claimed[1]), "x");
    work().abandon(leases_of(claimed[2]), "x", 1h);
    const Counts counts = store().counts(queue());
    EXPECT_EQ(counts.ready, 4U);
    EXPECT_EQ(counts.retrying, 1U);
    EXPECT_EQ(counts.in_progress, 1U);
    EXPECT_EQ(counts.dead, 1U);
    EXPECT_EQ(counts.seen, 0U);
    ASSERT_TRUE(counts.oldest.has_value());
    EXPECT_GE(*counts.oldest, before);
    EXPECT_LE(*counts.oldest, now());
}

// 004: failed pending is whatever failed and is not done; old failures are those that failed often.
TEST_P(QueryLaw, S004_CountsTellOfFailuresAlsoWhileTheyAreInProgress) {
    open({.old_failure_attempts = 2});
    put_many(4);
    std::vector<Message> claimed = claim(4);
    work().abandon(leases_of(claimed), "x", 1ms);
    pass(5ms);
    claimed = claim(2);
    ASSERT_THAT(claimed, SizeIs(2));
    EXPECT_EQ(store().counts(queue()).in_progress, 2U);
    EXPECT_EQ(store().counts(queue()).retrying, 4U);
    EXPECT_EQ(store().counts(queue()).old_failures, 0U);

    work().abandon(leases_of(claimed), "x", 1ms);
    pass(5ms);
    EXPECT_EQ(store().counts(queue()).retrying, 4U);
    EXPECT_EQ(store().counts(queue()).old_failures, 2U);
    claimed = claim(4);
    ASSERT_THAT(claimed, SizeIs(4));
    EXPECT_EQ(store().counts(queue()).old_failures, 2U);

    work().fail(leases_of(claimed), "x");
    EXPECT_EQ(store().counts(queue()).retrying, 0U);
    EXPECT_EQ(store().counts(queue()).old_failures, 0U) << "dead ones are counted apart";
}

TEST_P(QueryLaw, TheOldestIsNeitherDoneNorDead) {
    put();
    work().fail(leases_of(claim_one()), "x");
    put();
    work().ack(leases_of(claim_one()));
    EXPECT_FALSE(store().counts(queue()).oldest.has_value());
    pass(5ms);
    const Instant before = now();
    put();
    ASSERT_TRUE(store().counts(queue()).oldest.has_value());
    EXPECT_GE(*store().counts(queue()).oldest, before);
}

TEST_P(QueryLaw, AStoreHasAStableNameWithoutASecret) {
    EXPECT_FALSE(store().id().empty());
    EXPECT_EQ(sandbox().reopen()->id(), store().id());
    EXPECT_THAT(store().id(), testing::Not(testing::HasSubstr("password")));
}

TEST_P(QueryLaw, ThePurgeOfAnEmptyQueueRemovesNothing) {
    EXPECT_EQ(work().purge(1s), 0U);
    put();
    EXPECT_EQ(work().purge(1us), 0U);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(QueryLaw, OBX_106_IBX_127_ErrorsDoNotShowThePayload) {
    const std::string secret = "4929-1234-5678-9012";
    std::string payload(store().limits().max_payload_bytes + 1, 'x');
    payload.replace(0, secret.size(), secret);
    EXPECT_THAT(thrown([&] { put({.payload = payload}); }),
                testing::Not(testing::HasSubstr("4929")));
    EXPECT_THAT(thrown([&] { put({.topic = "", .payload = secret}); }),
                testing::Not(testing::HasSubstr("4929")));
}

}  // namespace
}  // namespace postroom::test
