// A message id that its writer gave is found by the keys, among any number of messages.
#include <gmock/gmock.h>

#include "admin/messages.hpp"
#include "conformance/law.hpp"

namespace postroom::test::keyed_lookup {
namespace {

using testing::UnorderedElementsAre;

NewMessage given(const std::string& message_id, const std::string& tenant,
                 const std::string& key = "") {
    return {.topic = "t",
            .payload = "{}",
            .message_id = MessageId(message_id),
            .tenant_id = tenant,
            .idempotency_key = key};
}

ReceivedMessage received(const std::string& message_id, const std::string& source) {
    return {.topic = "t", .source = source, .message_id = message_id, .payload = "{}"};
}

TEST_P(LargeQueueLaw, KeysLeadToAMessageIdOfEveryTenant) {
    const WorkItemId nobodys = outbox().enqueue(given("m", "")).id;
    const WorkItemId norths = outbox().enqueue(given("m", "north")).id;
    const WorkItemId souths = outbox().enqueue(given("m", "south")).id;
    outbox().enqueue(given("n", "east", "m"));
    outbox().enqueue(given("n", "north"));
    EXPECT_THAT(store().find_keyed(Queue::outbox, "m"),
                UnorderedElementsAre(nobodys, norths, souths));
    EXPECT_THAT(store().find_keyed(Queue::outbox, "east"), IsEmpty());
    EXPECT_TRUE(admin::find_message(store(), Queue::outbox, "m").several);
}

// Goal: a key is no reason to take a message for one of another id, nor to look no further.
// Method: one message has the id as its key alone, another as its id alone.
TEST_P(LargeQueueLaw, AMessageIdBesideAnotherKeyIsSearchedFor) {
    outbox().enqueue(given("other", "north", "m"));
    const WorkItemId wanted = outbox().enqueue(given("m", "north", "other")).id;
    EXPECT_THAT(store().find_keyed(Queue::outbox, "m"), IsEmpty());
    const admin::NamedMessage found = admin::find_message(store(), Queue::outbox, "m");
    ASSERT_TRUE(found.message);
    EXPECT_EQ(found.message->id, wanted);
}

// Goal: nobody changes the message of another tenant by an id that both have. Method: one of them
// has no key of that name, as after its window.
TEST_P(LargeQueueLaw, ASearchToTheEndFindsAllThatHaveTheId) {
    outbox().enqueue(given("m", "north"));
    outbox().enqueue(given("m", "south", "other"));
    EXPECT_TRUE(
        admin::find_message(store(), Queue::outbox, "m", {.patience = Duration::max()}).several);
}

TEST_P(LargeQueueLaw, KeysLeadToAMessageIdOfEverySource) {
    const Inbox received_here(store());
    const WorkItemId shops = received_here.enqueue(received("m", "shop")).id;
    const WorkItemId banks = received_here.enqueue(received("m", "bank")).id;
    received_here.enqueue(received("n", "shop"));
    EXPECT_THAT(store().find_keyed(Queue::inbox, "m"), UnorderedElementsAre(shops, banks));
    EXPECT_TRUE(admin::find_message(store(), Queue::inbox, "m").several);
    store().mark(nullptr, {.source = "shop", .message_id = "m"}, State::done, "");
    EXPECT_THAT(store().find_keyed(Queue::inbox, "m"), UnorderedElementsAre(banks));
    store().mark(nullptr, {.source = "shop", .message_id = "n"}, State::done, "");
    const admin::NamedMessage done = admin::find_message(store(), Queue::inbox, "n");
    ASSERT_TRUE(done.message);
    EXPECT_EQ(done.message->state, State::done);
}

}  // namespace
}  // namespace postroom::test::keyed_lookup
