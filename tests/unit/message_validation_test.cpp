#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "postroom/message.hpp"

namespace postroom::message_validation_test {
namespace {

using namespace std::chrono_literals;

// The text of the refusal; empty when `message` is accepted.
template <class AnyMessage>
std::string complaint_about(const AnyMessage& message, const Limits& limits = {}) {
    try {
        validate(message, limits);
        return "";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

NewMessage good() {
    NewMessage message;
    message.topic = "order.placed";
    message.payload = "{}";
    return message;
}

ReceivedMessage good_received() {
    ReceivedMessage message;
    message.topic = "order.placed";
    message.source = "shop";
    message.message_id = "m-1";
    message.payload = "{}";
    return message;
}

std::string repeated(const std::string& text, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) result += text;
    return result;
}

struct Case {
    std::string complaint;
    std::function<void(NewMessage&)> change;
};

TEST(MessageValidation, NamesTheFieldAndTheLimitThatIsBroken) {
    const std::vector<Case> cases{
        {"topic: must not be empty", [](NewMessage& m) { m.topic = ""; }},
        {"topic: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.topic = std::string(256, 'x'); }},
        {"topic: contains a NUL byte", [](NewMessage& m) { m.topic = std::string("a\0b", 3); }},
        {"topic: is not valid UTF-8", [](NewMessage& m) { m.topic = "a\xff"; }},
        {"payload: missing; give an empty string for a message without a body",
         [](NewMessage& m) { m.payload.reset(); }},
        {"payload: 1048577 bytes, at most 1048576 allowed (max_payload_bytes)",
         [](NewMessage& m) { m.payload = std::string(1048577, 'x'); }},
        {"headers: name must not be empty",
         [](NewMessage& m) {
             m.headers = {{"", "v"}};
         }},
        {"headers: 70000 bytes, at most 65536 allowed",
         [](NewMessage& m) {
             m.headers = {{"n", std::string(69999, 'x')}};
         }},
        {"headers: name: contains CR or LF",
         [](NewMessage& m) {
             m.headers = {{"a\nb", "v"}};
         }},
        {"headers: name: contains a NUL byte",
         [](NewMessage& m) {
             m.headers = {{std::string("a\0", 2), "v"}};
         }},
        {"headers: name: is not valid UTF-8",
         [](NewMessage& m) {
             m.headers = {{"\xc3", "v"}};
         }},
        {"headers: value of \"n\": contains CR or LF",
         [](NewMessage& m) {
             m.headers = {{"n", "a\rb"}};
         }},
        {"headers: value of \"n\": contains a NUL byte",
         [](NewMessage& m) {
             m.headers = {{"n", std::string("\0", 1)}};
         }},
        {"headers: value of \"n\": is not valid UTF-8",
         [](NewMessage& m) {
             m.headers = {{"n", "\x80"}};
         }},
        {"message_id: 37 characters, at most 36 allowed",
         [](NewMessage& m) { m.message_id = MessageId{std::string(37, 'x')}; }},
        {"correlation_id: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.correlation_id = std::string(256, 'x'); }},
        {"tenant_id: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.tenant_id = std::string(256, 'x'); }},
        {"idempotency_key: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.idempotency_key = std::string(256, 'x'); }},
        {"aggregate_type: must not be empty", [](NewMessage& m) { m.aggregate_type = ""; }},
        {"aggregate_type: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.aggregate_type = std::string(256, 'x'); }},
        {"aggregate_id: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.aggregate_id = std::string(256, 'x'); }},
        {"ordering_key: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.ordering_key = std::string(256, 'x'); }},
        {"content_type: 256 characters, at most 255 allowed",
         [](NewMessage& m) { m.content_type = std::string(256, 'x'); }},
        {"expires_at: must lie after due_time",
         [](NewMessage& m) { m.due_time = m.expires_at = Instant{1h}; }},
        {"max_attempts: 0, at least 1 required", [](NewMessage& m) { m.max_attempts = 0; }},
    };
    for (const Case& one : cases) {
        NewMessage message = good();
        one.change(message);
        EXPECT_EQ(complaint_about(message), one.complaint);
    }
}

TEST(MessageValidation, AcceptsWhatReachesTheLimitsExactly) {
    NewMessage message = good();
    message.topic = repeated("\xc3\xa4", 255);  // characters, not bytes
    message.payload = std::string(1048576, '\0');
    message.headers = {{"n", std::string(65535, 'x')}};
    message.message_id = MessageId{std::string(36, 'x')};
    message.tenant_id = repeated("\xf0\x9f\x93\xae", 255);
    message.due_time = Instant{1h};
    message.expires_at = Instant{1h} + 1us;
    message.priority = INT32_MIN;
    message.max_attempts = 1;
    EXPECT_EQ(complaint_about(message), "");
}

TEST(MessageValidation, AcceptsAnEmptyPayloadAndNoMessageId) {
    NewMessage message = good();
    message.payload = "";
    EXPECT_TRUE(message.message_id.empty());
    EXPECT_EQ(complaint_about(message), "");
}

TEST(MessageValidation, HeedsTheLimitsThatItIsGiven) {
    Limits limits;
    limits.max_payload_bytes = 1;
    EXPECT_EQ(complaint_about(good(), limits),
              "payload: 2 bytes, at most 1 allowed (max_payload_bytes)");
}

TEST(MessageValidation, AReceivedMessageNeedsItsKey) {
    EXPECT_EQ(complaint_about(good_received()), "");
    ReceivedMessage message = good_received();
    message.source = "";
    EXPECT_EQ(complaint_about(message), "source: must not be empty");
    message = good_received();
    message.message_id = "";
    EXPECT_EQ(complaint_about(message), "message_id: must not be empty");
    message.message_id = std::string(256, 'x');
    EXPECT_EQ(complaint_about(message), "message_id: 256 characters, at most 255 allowed");
    message.message_id = std::string(255, 'x');
    EXPECT_EQ(complaint_about(message), "");
}

TEST(MessageValidation, AReceivedMessageObeysTheCommonRules) {
    ReceivedMessage message = good_received();
    message.payload.reset();
    EXPECT_EQ(complaint_about(message),
              "payload: missing; give an empty string for a message without a body");
    message = good_received();
    message.hash = std::string(1025, '\0');
    EXPECT_EQ(complaint_about(message), "hash: 1025 bytes, at most 1024 allowed");
    message = good_received();
    message.max_attempts = 0;
    EXPECT_EQ(complaint_about(message), "max_attempts: 0, at least 1 required");
}

TEST(MessageNames, EachQueueHasItsOwnStateNames) {
    EXPECT_EQ(to_string(Queue::outbox), "outbox");
    EXPECT_EQ(to_string(Queue::inbox), "inbox");
    EXPECT_EQ(state_name(Queue::outbox, State::ready), "Ready");
    EXPECT_EQ(state_name(Queue::outbox, State::in_progress), "InProgress");
    EXPECT_EQ(state_name(Queue::outbox, State::done), "Done");
    EXPECT_EQ(state_name(Queue::outbox, State::dead), "Failed");
    EXPECT_EQ(state_name(Queue::inbox, State::ready), "Processing");
    EXPECT_EQ(state_name(Queue::inbox, State::in_progress), "Processing");
    EXPECT_EQ(state_name(Queue::inbox, State::done), "Done");
    EXPECT_EQ(state_name(Queue::inbox, State::dead), "Dead");
    EXPECT_EQ(state_name(Queue::inbox, State::seen), "Seen");
}

TEST(MessageNames, DeadReasonsComeBackFromTheirText) {
    for (const DeadReason reason :
         {DeadReason::none, DeadReason::failed, DeadReason::max_attempts, DeadReason::crash_limit,
          DeadReason::expired, DeadReason::cancelled})
        EXPECT_EQ(dead_reason_from(to_string(reason)), reason);
    EXPECT_EQ(dead_reason_from(""), DeadReason::none);
    EXPECT_EQ(dead_reason_from("a_reason_of_the_future"), DeadReason::failed);
}

}  // namespace
}  // namespace postroom::message_validation_test
