// Bad input of the inbox: refused with the field and the limit, in the same words on every backend.
#include "conformance/law.hpp"

namespace postroom::test {
namespace {

struct BadReceived {
    std::string refused;
    std::function<void(ReceivedMessage&)> spoil;
};

const std::vector<BadReceived>& bad_received() {
    static const std::vector<BadReceived> table{
        {"topic: must not be empty", [](ReceivedMessage& m) { m.topic = ""; }},
        {"topic: 256 characters, at most 255 allowed",
         [](ReceivedMessage& m) { m.topic = std::string(256, 't'); }},
        {"topic: is not valid UTF-8", [](ReceivedMessage& m) { m.topic = "\xFF"; }},
        {"source: must not be empty", [](ReceivedMessage& m) { m.source = ""; }},
        {"source: 256 characters, at most 255 allowed",
         [](ReceivedMessage& m) { m.source = std::string(256, 's'); }},
        {"source: contains a NUL byte",
         [](ReceivedMessage& m) { m.source = std::string("a\0b", 3); }},
        {"message_id: must not be empty", [](ReceivedMessage& m) { m.message_id = ""; }},
        {"message_id: 256 characters, at most 255 allowed",
         [](ReceivedMessage& m) { m.message_id = std::string(256, 'm'); }},
        {"message_id: is not valid UTF-8", [](ReceivedMessage& m) { m.message_id = "\x80"; }},
        {"payload: missing; give an empty string for a message without a body",
         [](ReceivedMessage& m) { m.payload.reset(); }},
        {"payload: 1048577 bytes, at most 1048576 allowed (max_payload_bytes)",
         [](ReceivedMessage& m) { m.payload = std::string(1048577, 'x'); }},
        {"hash: 1025 bytes, at most 1024 allowed",
         [](ReceivedMessage& m) { m.hash = std::string(1025, 'h'); }},
        {"max_attempts: 0, at least 1 required", [](ReceivedMessage& m) { m.max_attempts = 0; }},
    };
    return table;
}

TEST_P(InboxInputLaw,
       IBX_015_IBX_016_IBX_017_IBX_018_IBX_020_EveryBadFieldIsRefusedWithItsNameAndLimit) {
    for (const BadReceived& bad : bad_received()) {
        ReceivedMessage message{.topic = "t", .source = "s", .message_id = "m", .payload = "p"};
        bad.spoil(message);
        EXPECT_EQ(thrown([&] { inbox().enqueue(message); }), "invalid_argument: " + bad.refused);
    }
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
}

TEST_P(InboxInputLaw, IBX_009_IBX_010_IBX_011_IBX_012_ABadKeyIsRefusedByEveryVerb) {
    const std::string too_long(256, 'x');
    const std::vector<std::pair<InboxKey, std::string>> table{
        {{.source = "shop", .message_id = ""}, "message_id: must not be empty"},
        {{.source = "", .message_id = "m"}, "source: must not be empty"},
        {{.source = "shop", .message_id = too_long},
         "message_id: 256 characters, at most 255 allowed"},
        {{.source = too_long, .message_id = "m"}, "source: 256 characters, at most 255 allowed"},
        {{.source = "shop", .message_id = std::string("\0", 1)}, "message_id: contains a NUL byte"},
        {{.source = "\xFF", .message_id = "m"}, "source: is not valid UTF-8"},
    };
    for (const auto& [key, refused] : table) {
        const std::string expected = "invalid_argument: " + refused;
        EXPECT_EQ(thrown([&] { (void)inbox().already_processed(key); }), expected);
        EXPECT_EQ(thrown([&] { (void)inbox().already_processed(key, "h"); }), expected);
        EXPECT_EQ(thrown([&] { inbox().mark_processing(key); }), expected);
        EXPECT_EQ(thrown([&] { inbox().mark_processed(key); }), expected);
        EXPECT_EQ(thrown([&] { inbox().mark_dead(key); }), expected);
    }
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
}

TEST_P(InboxInputLaw, AHashBeyondItsLimitIsRefusedByTheCheckToo) {
    EXPECT_EQ(thrown([&] {
                  (void)inbox().already_processed({.source = "shop", .message_id = "m"},
                                                  std::string(1025, 'h'));
              }),
              "invalid_argument: hash: 1025 bytes, at most 1024 allowed");
    EXPECT_THAT(store().find(Queue::inbox, {}), IsEmpty());
}

TEST_P(InboxInputLaw, ABadMessageLeavesTheCallersTransactionUsable) {
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_THROW(inbox().enqueue(*tx, {.source = "s", .message_id = "m", .payload = "p"}),
                 std::invalid_argument);
    inbox().enqueue(*tx, {.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    tx->commit();
    EXPECT_THAT(claim(), SizeIs(1));
}

}  // namespace
}  // namespace postroom::test
