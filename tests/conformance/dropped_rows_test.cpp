// A trigger of somebody else's that drops rows: whoever wrote them is told, and may write them
// again.
#include "conformance/law.hpp"
#include "support/error_of.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;

// A message that takes more than a plain INSERT, and why.
struct Special {
    std::string what;
    NewMessage message;
};

std::vector<Special> specials(Instant now) {
    const Instant later = now + std::chrono::hours{1};
    return {{"idempotency key", {.idempotency_key = "k"}},
            {"message id", {.message_id = MessageId("m")}},
            {"due time", {.due_time = later}},
            {"due time that has come", {.due_time = now - std::chrono::hours{1}}},
            {"ordering key", {.ordering_key = "o"}},
            {"low priority", {.priority = -1}},
            {"all of them",
             {.message_id = MessageId("n"),
              .idempotency_key = "l",
              .ordering_key = "p",
              .due_time = later,
              .priority = -1}}};
}

NewMessage of_topic(const std::string& topic, NewMessage message = {}) {
    message.topic = topic;
    message.payload = topic;
    return message;
}

}  // namespace

TEST_P(DroppedRowsLaw, AreReportedHoweverTheyAreWritten) {
    drop_rows_of("outbox_live");
    drop_rows_of("outbox_waiting");
    for (const Special& special : specials(now())) {
        const Error error =
            error_of([&] { outbox().enqueue(of_topic("dropped", special.message)); });
        EXPECT_EQ(error.kind(), ErrorKind::rejected) << special.what;
        EXPECT_THAT(error.what(), HasSubstr("stored 0 of 1 messages")) << special.what;
    }
    EXPECT_EQ(rows_of("outbox_key"), 0);
    EXPECT_THAT(store().find(Queue::outbox, {}), IsEmpty());
}

// Goal: a key is not kept for a message that is not there. Method: the repetition has a topic that
// the trigger lets pass.
TEST_P(DroppedRowsLaw, AreStoredWhenTheyAreWrittenAgain) {
    drop_rows_of("outbox_live");
    drop_rows_of("outbox_waiting");
    for (const Special& special : specials(now())) {
        error_of([&] { outbox().enqueue(of_topic("dropped", special.message)); });
        const EnqueueResult again = outbox().enqueue(of_topic("kept", special.message));
        EXPECT_FALSE(again.already_existed) << special.what;
        EXPECT_EQ(get(again.id).payload, "kept") << special.what;
    }
    EXPECT_THAT(store().find(Queue::outbox, {}), SizeIs(specials(now()).size()));
}

// Goal: what is on its way to another table is not left in the first one, where it would be claimed
// at once.
TEST_P(DroppedRowsLaw, AreReportedWhereTheyShouldHaveWaited) {
    drop_rows_of("outbox_waiting");
    const NewMessage due_later{.idempotency_key = "k", .due_time = now() + std::chrono::hours{1}};
    error_of([&] { outbox().enqueue(of_topic("dropped", due_later)); });
    EXPECT_THAT(store().find(Queue::outbox, {}), IsEmpty());
    EXPECT_EQ(rows_of("outbox_key"), 0);
}

// Goal: nobody gets the id of another, and the others of the call are kept. Method: each kind
// between messages of all kinds, in the caller's transaction and in one of their own.
TEST_P(DroppedRowsLaw, AmongOthersTakeNobodyElseAlong) {
    drop_rows_of("outbox_live");
    drop_rows_of("outbox_waiting");
    for (const Special& special : specials(now())) {
        const std::vector<NewMessage> messages{
            of_topic("kept"), of_topic("kept", {.idempotency_key = "before " + special.what}),
            of_topic("dropped", special.message),
            of_topic("kept", {.idempotency_key = "behind " + special.what}), of_topic("kept")};
        const auto tx = store().begin();
        const Error error = error_of([&] { outbox().enqueue_all(*tx, messages); });
        EXPECT_EQ(error.kind(), ErrorKind::rejected) << special.what;
        EXPECT_THAT(error.what(), HasSubstr("stored 4 of 5 messages")) << special.what;
        tx->rollback();
        EXPECT_EQ(error_of([&] { outbox().enqueue_all(messages); }).kind(),
                  ErrorKind::outcome_unknown)
            << special.what;
    }
    const std::size_t kinds = specials(now()).size();
    EXPECT_THAT(store().find(Queue::outbox, {.topic = "kept"}), SizeIs(4 * kinds));
    EXPECT_EQ(rows_of("outbox_key"), 2 * static_cast<int>(kinds));
    // Each key leads to a message of its own.
    EXPECT_EQ(sql("SELECT count(DISTINCT k.seq) FROM " + table("outbox_key") + " k JOIN " +
                  table("outbox_live") + " m ON m.seq = k.seq AND m.nonce = k.nonce"),
              (SqlRows{{std::to_string(2 * kinds)}}));
}

// Those of a foreign transaction run by their texts alone.
TEST_P(DroppedRowsLaw, AreReportedInABorrowedTransaction) {
    drop_rows_of("outbox_live");
    drop_rows_of("outbox_waiting");
    for (const Special& special : specials(now())) {
        const std::unique_ptr<TxContext> mine = sql_sandbox().borrowed();
        outbox().enqueue(*mine, of_topic("kept"));
        EXPECT_EQ(
            error_of([&] { outbox().enqueue(*mine, of_topic("dropped", special.message)); }).kind(),
            ErrorKind::rejected)
            << special.what;
        EXPECT_FALSE(outbox().enqueue(*mine, of_topic("kept", special.message)).already_existed);
        mine->execute({.sql = "COMMIT", .params = {}});
    }
    EXPECT_THAT(store().find(Queue::outbox, {}), SizeIs(2 * specials(now()).size()));
}

}  // namespace postroom::test
