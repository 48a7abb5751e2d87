// already_processed: the receiver's memory of (source, message_id).
#include <atomic>

#include "conformance/law.hpp"

namespace postroom::test::dedupe {
namespace {

using namespace std::chrono_literals;

const std::string source = "stripe";
const InboxKey m{.source = source, .message_id = "m"};

ReceivedMessage received(const std::string& message_id, const std::string& from = source) {
    return {.topic = "paid", .source = from, .message_id = message_id, .payload = "{}"};
}

Message find_one(Store& store, const std::string& message_id) {
    return store.find(Queue::inbox, {.message_id = message_id, .source = source}).at(0);
}

TEST_P(DedupeLaw, IBX_001_SourceAndMessageIdTogetherAreTheKey) {
    inbox().enqueue(received("m-1", "stripe"));
    inbox().enqueue(received("m-1", "paypal"));
    inbox().enqueue(received("m-2", "stripe"));
    inbox().enqueue(received("m-1", "stripe"));
    EXPECT_THAT(claim(), SizeIs(3));
}

TEST_P(DedupeLaw, IBX_001_KeysAreComparedByteByByte) {
    const std::vector<std::string> texts{
        "id",          "Id",           "ID", "id ", " id",
        "caf\xC3\xA9", "cafe\xCC\x81", "i%", "i_",  "\xF0\x9F\x93\xAE"};
    for (const std::string& text : texts) {
        EXPECT_FALSE(inbox().enqueue(received(text, "s")).previous.has_value()) << text;
        EXPECT_FALSE(inbox().enqueue(received("m", text)).previous.has_value()) << text;
    }
    for (const Message& message : claim(100)) inbox().ack(leases_of(message));
    for (const std::string& text : texts) {
        EXPECT_TRUE(inbox().already_processed({.source = "s", .message_id = text})) << text;
        EXPECT_TRUE(inbox().already_processed({.source = text, .message_id = "m"})) << text;
    }
    EXPECT_FALSE(inbox().already_processed({.source = "s", .message_id = "iD"}));
}

TEST_P(DedupeLaw, IBX_002_IBX_003_ADoneMessageWasProcessed) {
    inbox().enqueue(received("m"));
    EXPECT_FALSE(inbox().already_processed(m));
    const Message message = claim_one();
    EXPECT_FALSE(inbox().already_processed(m));
    inbox().ack(leases_of(message));
    EXPECT_TRUE(inbox().already_processed(m));
    EXPECT_TRUE(inbox().already_processed(m));
}

TEST_P(DedupeLaw, IBX_004_AnUnknownMessageIsNotedAsSeen) {
    EXPECT_FALSE(inbox().already_processed(m));
    const Message message = find_one(store(), "m");
    EXPECT_EQ(message.state, State::seen);
    EXPECT_EQ(message.source, source);
    EXPECT_EQ(message.message_id.str(), "m");
    EXPECT_EQ(store().counts(Queue::inbox).seen, 1U);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(DedupeLaw, IBX_005_IBX_026_SeeingItAgainMovesLastSeenOnly) {
    (void)inbox().already_processed(m);
    const Message first = find_one(store(), "m");
    pass(20ms);
    const Instant again = now();
    EXPECT_GT(again, first.last_seen);
    EXPECT_FALSE(inbox().already_processed(m));
    const Message second = find_one(store(), "m");
    EXPECT_EQ(second.created_at, first.created_at);
    EXPECT_GE(second.last_seen, again);
    EXPECT_EQ(second.state, State::seen);
}

TEST_P(DedupeLaw, IBX_005_AMessageThatIsNotDoneWasNotProcessed) {
    inbox().enqueue(received("dead"));
    inbox().fail(leases_of(claim_one()), "x");
    EXPECT_FALSE(inbox().already_processed({.source = source, .message_id = "dead"}));
    EXPECT_EQ(find_one(store(), "dead").state, State::dead);

    inbox().enqueue(received("ready"));
    EXPECT_FALSE(inbox().already_processed({.source = source, .message_id = "ready"}));
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(DedupeLaw, IBX_006_IBX_104_AConcurrentRaceOfCallersNotesOneMessage) {
    inbox();
    std::atomic<int> processed = 0;
    in_parallel(8, [&](int) {
        for (int i = 0; i < 10; ++i)
            if (inbox().already_processed(
                    {.source = source, .message_id = "m-" + std::to_string(i)}))
                ++processed;
    });
    EXPECT_EQ(processed, 0);
    EXPECT_EQ(store().counts(Queue::inbox).seen, 10U);
    EXPECT_THAT(store().find(Queue::inbox, {.source = source}), SizeIs(10));
}

TEST_P(DedupeLaw, IBX_006_ARaceOfCheckAndEnqueueLosesNothingAndDoublesNothing) {
    inbox();
    in_parallel(8, [&](int thread) {
        for (int i = 0; i < 10; ++i) {
            const std::string id = "m-" + std::to_string(i);
            if (thread % 2 == 0) {
                (void)inbox().already_processed({.source = source, .message_id = id}, "hash");
            } else {
                inbox().enqueue(received(id));
            }
        }
    });
    EXPECT_THAT(store().find(Queue::inbox, {}), SizeIs(10));
    EXPECT_THAT(claim(), SizeIs(10));
}

TEST_P(DedupeLaw, IBX_006_ACheckIsPartOfTheCallersTransaction) {
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_FALSE(inbox().already_processed(*tx, m));
        tx->rollback();
    }
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_FALSE(inbox().already_processed(*tx, m));
    tx->commit();
    EXPECT_EQ(find_one(store(), "m").state, State::seen);
}

TEST_P(DedupeLaw, IBX_007_TheHashIsKeptForLaterCalls) {
    const std::string hash("\x00\xFF\x10 not text", 12);
    (void)inbox().already_processed(m, hash);
    EXPECT_EQ(find_one(store(), "m").hash, hash);
    (void)inbox().already_processed(m, hash);
    (void)inbox().already_processed(m);
    EXPECT_EQ(find_one(store(), "m").hash, hash);
    EXPECT_EQ(inbox().hash_mismatches(), 0U);
}

TEST_P(DedupeLaw, IBX_007_AHashThatComesLaterIsKept) {
    (void)inbox().already_processed(m);
    EXPECT_FALSE(find_one(store(), "m").hash.has_value());
    (void)inbox().already_processed(m, "h");
    EXPECT_EQ(find_one(store(), "m").hash, "h");
    EXPECT_EQ(inbox().hash_mismatches(), 0U);
}

TEST_P(DedupeLaw, IBX_008_AnotherHashIsCountedAndToldAndNeverAFailure) {
    std::vector<InboxKey> told;
    const Inbox watching(store(),
                         {.on_hash_mismatch = [&](const InboxKey& key) { told.push_back(key); }});
    EXPECT_FALSE(watching.already_processed(m, "one"));
    EXPECT_FALSE(watching.already_processed(m, "two"));
    EXPECT_EQ(watching.hash_mismatches(), 1U);
    ASSERT_THAT(told, SizeIs(1));
    EXPECT_EQ(told[0], (InboxKey{.source = source, .message_id = "m"}));
    EXPECT_EQ(find_one(store(), "m").hash, "one");
}

TEST_P(DedupeLaw, IBX_008_AnotherHashOfADoneMessageIsCountedAndTheOldOneKept) {
    ReceivedMessage message = received("m");
    message.hash = "one";
    inbox().enqueue(message);
    inbox().ack(leases_of(claim_one()));
    EXPECT_TRUE(inbox().already_processed(m, "two"));
    EXPECT_EQ(inbox().hash_mismatches(), 1U);
    EXPECT_EQ(find_one(store(), "m").hash, "one");
    EXPECT_EQ(find_one(store(), "m").state, State::done);
}

}  // namespace
}  // namespace postroom::test::dedupe
