// Bad input: refused with the field and the limit, in the same words on every backend, before
// anything is written.
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

std::string repeated(const std::string& text, int count) {
    std::string result;
    for (int i = 0; i < count; ++i) result += text;
    return result;
}

struct BadMessage {
    std::string refused;
    std::function<void(NewMessage&)> spoil;
};

const std::vector<BadMessage>& bad_messages() {
    static const std::vector<BadMessage> table{
        {"topic: must not be empty", [](NewMessage& m) { m.topic = ""; }},
        {"topic: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.topic = std::string(256, 'x'); }},
        {"topic: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.topic = repeated("\xF0\x9F\x93\xAE", 256); }},
        {"topic: contains a NUL byte", [](NewMessage& m) { m.topic = std::string("a\0b", 3); }},
        {"topic: is not valid UTF-8", [](NewMessage& m) { m.topic = "a\xFF"; }},
        {"topic: is not valid UTF-8", [](NewMessage& m) { m.topic = "\xC0\xAF"; }},
        {"topic: is not valid UTF-8", [](NewMessage& m) { m.topic = "\xED\xA0\x80"; }},
        {"payload: missing; give an empty string for a message without a body",
         [](NewMessage& m) { m.payload.reset(); }},
        {"payload: 1048577 bytes, at most 1048576 allowed (max_payload_bytes)",
         [](NewMessage& m) { m.payload = std::string(1048577, 'x'); }},
        {"correlation_id: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.correlation_id = std::string(256, 'c'); }},
        {"tenant_id: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.tenant_id = std::string(256, 't'); }},
        {"idempotency_key: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.idempotency_key = std::string(256, 'k'); }},
        {"message_id: 37 characters, at most 36 allowed",
         [](NewMessage& m) { m.message_id = MessageId(std::string(37, 'm')); }},
        {"aggregate_type: must not be empty", [](NewMessage& m) { m.aggregate_type = ""; }},
        {"ordering_key: contains a NUL byte",
         [](NewMessage& m) { m.ordering_key = std::string("\0", 1); }},
        {"idempotency_key: is not valid UTF-8", [](NewMessage& m) { m.idempotency_key = "\xFF"; }},
        {"headers: name must not be empty",
         [](NewMessage& m) {
             m.headers = {{"", "v"}};
         }},
        {"headers: 65537 bytes, at most 65536 allowed",
         [](NewMessage& m) {
             m.headers = {{"n", std::string(65536, 'v')}};
         }},
        {"max_attempts: 0, at least 1 required", [](NewMessage& m) { m.max_attempts = 0; }},
        {"expires_at: must lie after due_time",
         [](NewMessage& m) {
             m.due_time = Instant{2s};
             m.expires_at = Instant{1s};
         }},
    };
    return table;
}

TEST_P(InputLaw, OBX_004_OBX_005_OBX_007_OBX_009_EveryBadFieldIsRefusedWithItsNameAndLimit) {
    for (const BadMessage& bad : bad_messages()) {
        NewMessage message{.topic = "t", .payload = "p"};
        bad.spoil(message);
        EXPECT_EQ(thrown([&] { outbox().enqueue(message); }), "invalid_argument: " + bad.refused);
    }
    EXPECT_THAT(store().find(Queue::outbox, {}), IsEmpty());
}

TEST_P(InputLaw, S000_5_TopicAndPayloadAreRequired) {
    EXPECT_THROW(outbox().enqueue({.payload = "p"}), std::invalid_argument);
    EXPECT_THROW(outbox().enqueue({.topic = "t"}), std::invalid_argument);
    EXPECT_NO_THROW(outbox().enqueue({.topic = "t", .payload = ""}));
}

TEST_P(InputLaw, S000_5_TopicAndCorrelationIdAreLimitedTo255Characters) {
    EXPECT_NO_THROW(outbox().enqueue({.topic = std::string(255, 't'), .payload = "p"}));
    EXPECT_THROW(outbox().enqueue({.topic = std::string(256, 't'), .payload = "p"}),
                 std::invalid_argument);
    EXPECT_NO_THROW(outbox().enqueue(
        {.topic = "t", .payload = "p", .correlation_id = repeated("\xC3\xA9", 255)}));
    EXPECT_THROW(outbox().enqueue(
                     {.topic = "t", .payload = "p", .correlation_id = repeated("\xC3\xA9", 256)}),
                 std::invalid_argument);
}

TEST_P(InputLaw, BadMessagesAreRefusedInTransactionsInTheSameWords) {
    for (const BadMessage& bad : bad_messages()) {
        NewMessage message{.topic = "t", .payload = "p"};
        bad.spoil(message);
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_EQ(thrown([&] { outbox().enqueue(*tx, message); }),
                  "invalid_argument: " + bad.refused);
        EXPECT_TRUE(tx->in_transaction());
    }
}

TEST_P(InputLaw, LeasesBatchesOwnersAndDelaysAreRefusedInTheSameWords) {
    outbox().enqueue({.topic = "t", .payload = "p"});
    const Message message = claim_one();
    EXPECT_THAT(thrown([&] { (void)outbox().claim(me, 0s, 1); }),
                StartsWith("out_of_range: lease: 0 s"));
    EXPECT_THAT(thrown([&] { (void)outbox().claim(me, 24h + 1s, 1); }),
                HasSubstr("at most 86400 s"));
    EXPECT_EQ(thrown([&] { (void)outbox().claim(me, 1s, 0); }),
              "out_of_range: batch: 0, must be between 1 and 10000");
    EXPECT_EQ(thrown([&] { (void)outbox().claim(OwnerToken(), 1s, 1); }),
              "invalid_argument: owner_token: must not be the nil token");
    EXPECT_THAT(thrown([&] { outbox().abandon(leases_of(message), "x", 0s); }),
                StartsWith("out_of_range: delay: 0 s, must be above 0"));
    EXPECT_THAT(thrown([&] { outbox().purge(-1s); }), StartsWith("out_of_range: older_than"));
    EXPECT_THAT(thrown([&] { outbox().purge(1s, 0); }), StartsWith("out_of_range: batch"));
}

TEST_P(InputLaw, AMessageJustWithinEveryLimitIsStored) {
    const std::string text = repeated("\xE2\x82\xAC", 255);
    const EnqueueResult stored = outbox().enqueue({.topic = text,
                                                   .payload = "p",
                                                   .content_type = text,
                                                   .message_id = MessageId(std::string(36, 'm')),
                                                   .correlation_id = text,
                                                   .tenant_id = text,
                                                   .idempotency_key = text,
                                                   .aggregate_type = text,
                                                   .aggregate_id = text,
                                                   .ordering_key = text});
    const Message message = get(stored.id);
    EXPECT_EQ(message.topic, text);
    EXPECT_EQ(message.idempotency_key, text);
    EXPECT_EQ(message.tenant_id, text);
    EXPECT_EQ(message.ordering_key, text);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_P(InputLaw, ABadPolicyIsRefusedWhenTheQueueIsMade) {
    EXPECT_THROW(Outbox(store(), {.queue = {.retry = {.max_attempts = 0}}}), std::invalid_argument);
    EXPECT_THROW(Outbox(store(), {.queue = {.lease = 0s}}), std::out_of_range);
}

}  // namespace
}  // namespace postroom::test
