// Looking for messages by what operators know of them: texts, errors, times; newest first, without
// payloads, and how many there are.
#include <algorithm>

#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

TEST_P(QueryLaw, FindSelectsByOrderingKey) {
    put_many(2, {.ordering_key = "cart-1"});
    const WorkItemId other_key = put({.ordering_key = "Cart-1"});
    const WorkItemId without = put();
    EXPECT_THAT(store().find(queue(), {.ordering_key = "cart-1"}), SizeIs(2));
    EXPECT_THAT(ids_of(store().find(queue(), {.ordering_key = "Cart-1"})), ElementsAre(other_key));
    EXPECT_THAT(ids_of(store().find(queue(), {.ordering_key = ""})), ElementsAre(without));
    EXPECT_THAT(store().find(queue(), {.ordering_key = "' OR '1'='1"}), IsEmpty());
}

TEST_P(EnqueueLaw, FindSelectsByTenantCorrelationIdAndAggregateType) {
    const auto enqueue = [&](const NewMessage& message) { return outbox().enqueue(message).id; };
    NewMessage message{.topic = "t", .payload = "{}"};
    const WorkItemId plain = enqueue(message);
    message.tenant_id = "north";
    const WorkItemId tenant = enqueue(message);
    message.tenant_id = "";
    message.correlation_id = "c-1";
    const WorkItemId correlated = enqueue(message);
    message.correlation_id = "";
    message.aggregate_type = AggregateType("cart");
    const WorkItemId cart = enqueue(message);
    const auto found = [&](const Query& query) {
        return ids_of(store().find(Queue::outbox, query));
    };
    EXPECT_THAT(found({.tenant_id = "north"}), ElementsAre(tenant));
    EXPECT_THAT(found({.tenant_id = "North"}), IsEmpty());
    EXPECT_THAT(found({.correlation_id = "c-1"}), ElementsAre(correlated));
    EXPECT_THAT(found({.correlation_id = ""}), ElementsAre(plain, tenant, cart));
    EXPECT_THAT(found({.aggregate_type = "cart"}), ElementsAre(cart));
    EXPECT_THAT(found({.aggregate_type = "cart", .tenant_id = "north"}), IsEmpty());
    // Delivered ones have the same fields.
    work().ack(leases_of(claim()));
    EXPECT_THAT(found({.tenant_id = "north", .state = State::done}), ElementsAre(tenant));
    EXPECT_THAT(found({.correlation_id = "c-1"}), ElementsAre(correlated));
    EXPECT_THAT(found({.aggregate_type = "cart"}), ElementsAre(cart));
}

TEST_P(QueryLaw, FindSelectsByAPartOfTheLastErrorToTheByte) {
    const WorkItemId dead = put();
    work().fail(leases_of(claim_one()), "HTTP 503: 100% of 'a_b' \\ gone ");
    const WorkItemId waiting = put();
    work().abandon(leases_of(claim_one()), "http 503: aXb", 1h);
    put();
    const auto found = [&](const std::string& part) {
        return ids_of(store().find(queue(), {.error_part = part}));
    };
    EXPECT_THAT(found("503"), ElementsAre(dead, waiting));
    EXPECT_THAT(found("HTTP"), ElementsAre(dead)) << "upper and lower case differ";
    EXPECT_THAT(found("a_b"), ElementsAre(dead)) << "'_' stands for itself";
    EXPECT_THAT(found("100% of 'a"), ElementsAre(dead));
    EXPECT_THAT(found("% gone"), IsEmpty()) << "'%' stands for itself";
    EXPECT_THAT(found("\\ gone "), ElementsAre(dead)) << "spaces at the end count";
    EXPECT_THAT(found("' OR 1 = 1 --"), IsEmpty());
}

TEST_P(QueryLaw, FindSelectsWhatIsDeadOrFailedBefore) {
    const WorkItemId dead = put();
    work().fail(leases_of(claim_one()), "for good");
    const WorkItemId waiting = put();
    work().abandon(leases_of(claim_one()), "this time", 1h);
    put();
    work().ack(leases_of(claim_one()));
    put();
    EXPECT_THAT(ids_of(store().find(queue(), {.failed = true})), ElementsAre(dead, waiting));
    EXPECT_THAT(ids_of(store().find(queue(), {.state = State::ready, .failed = true})),
                ElementsAre(waiting));
    EXPECT_EQ(store().count(queue(), {.failed = true}), 2U);
}

TEST_P(QueryLaw, FindSelectsByTheTimeOfCreation) {
    put();
    pass(5ms);
    const WorkItemId middle = put();
    const Instant from = get(middle).created_at;
    pass(5ms);
    const WorkItemId last = put();
    const Instant before = get(last).created_at;
    EXPECT_THAT(ids_of(store().find(queue(), {.created_from = from, .created_before = before})),
                ElementsAre(middle));
    EXPECT_THAT(ids_of(store().find(queue(), {.created_from = from})), ElementsAre(middle, last));
    EXPECT_THAT(store().find(queue(), {.created_before = from}), SizeIs(1));
}

TEST_P(QueryLaw, FindTakesSeveralStates) {
    put_many(4);
    const std::vector<Message> claimed = claim(3);
    ASSERT_THAT(claimed, SizeIs(3));
    work().ack(leases_of(claimed[0]));
    work().fail(leases_of(claimed[1]), "x");
    EXPECT_THAT(store().find(queue(), {.state = open_states}), SizeIs(3));
    EXPECT_THAT(store().find(queue(), {.state = {State::done, State::dead}}), SizeIs(2));
    EXPECT_THAT(store().find(queue(), {.state = {}}), SizeIs(4));
}

// Goal: pages of the newest first go through everything once, wherever the messages lie.
TEST_P(QueryLaw, FindPagesFromTheNewestToTheOldest) {
    std::vector<WorkItemId> ids = put_many(10);
    std::sort(ids.rbegin(), ids.rend());
    work().fail(leases_of(claim(2)), "x");
    work().abandon(leases_of(claim(2)), "x", 1h);
    std::vector<WorkItemId> found;
    Query query{.newest_first = true, .limit = 3};
    while (true) {
        const std::vector<Message> page = store().find(queue(), query);
        EXPECT_LE(page.size(), 3U);
        if (page.empty()) break;
        for (const WorkItemId& id : ids_of(page)) found.push_back(id);
        query.before_seq = page.back().id.seq();
    }
    EXPECT_THAT(found, ElementsAreArray(ids));
    const std::vector<Message> between = store().find(
        queue(), {.after_seq = ids[4].seq(), .before_seq = ids[1].seq(), .newest_first = true});
    EXPECT_THAT(ids_of(between), ElementsAre(ids[2], ids[3]));
}

TEST_P(QueryLaw, FindLeavesPayloadsOutAndTellsTheirSize) {
    const std::string bytes("\0\xff\x01 12", 6);
    for (const bool failed : {false, true}) {
        const WorkItemId id = put({.payload = bytes,
                                   .content_type = "application/octet-stream",
                                   .headers = {{"a", "b"}}});
        if (failed) work().fail(leases_of(claim(100)), "x");
        const Message without = store().find(queue(), {.ids = {id}, .payloads = false}).at(0);
        EXPECT_EQ(without.payload, "");
        EXPECT_EQ(without.payload_left_out, 6U);
        EXPECT_EQ(without.payload_bytes(), 6U);
        EXPECT_EQ(without.headers.at("a"), "b");
        EXPECT_EQ(without.content_type, "application/octet-stream");
        const Message with = store().find(queue(), {.ids = {id}}).at(0);
        EXPECT_EQ(with.payload, bytes);
        EXPECT_FALSE(with.payload_left_out.has_value());
        EXPECT_EQ(with.payload_bytes(), 6U);
        EXPECT_EQ(without.created_at, with.created_at);
        EXPECT_EQ(without.last_error, with.last_error);
    }
}

TEST_P(QueryLaw, CountTellsHowManyMatchWhateverTheLimit) {
    EXPECT_EQ(store().count(queue(), {}), 0U);
    const std::vector<WorkItemId> ids = put_many(5, {.topic = "a"});
    put_many(2, {.topic = "b"});
    const std::vector<Message> claimed = claim(3);
    work().fail(leases_of(claimed[0]), "no such customer");
    work().ack(leases_of(claimed[1]));
    EXPECT_EQ(store().count(queue(), {.limit = 1}), 7U);
    EXPECT_EQ(store().count(queue(), {.topic = "b", .limit = 1}), 2U);
    EXPECT_EQ(store().count(queue(), {.state = open_states}), 6U);
    EXPECT_EQ(store().count(queue(), {.state = State::dead, .error_part = "customer"}), 1U);
    const WorkItemId& first = ids.front();
    const WorkItemId stranger(first.seq(), first.nonce() + 1);
    EXPECT_EQ(store().count(queue(), {.ids = {first, stranger}}), 1U);
}

}  // namespace
}  // namespace postroom::test
