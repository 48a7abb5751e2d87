#include "webhooks/receiver_test.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/sha256.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using webhooks::Authenticity;
using webhooks::Header;
using webhooks::http_status;
using webhooks::Receipt;
using webhooks::Receiver;
using webhooks::ReceiverOptions;
using webhooks::StripeStyle;
using Outcome = Receipt::Outcome;

std::string sha256_bytes(std::string_view text) {
    const base::Sha256Digest digest = base::sha256(text);
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

TEST_P(ReceiverTest, AVerifiedMessageIsQueuedWithItsDigest) {
    const Receipt receipt = receive(standard_headers());
    EXPECT_EQ(receipt.outcome, Outcome::accepted);
    EXPECT_EQ(receipt.authenticity, Authenticity::ok);
    EXPECT_EQ(receipt.message_id, message_id);
    EXPECT_EQ(http_status(receipt), 200);

    const std::vector<Message> messages = stored();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].id, receipt.id);
    EXPECT_EQ(messages[0].state, State::ready);
    EXPECT_EQ(messages[0].source, "shop");
    EXPECT_EQ(messages[0].message_id.str(), message_id);
    EXPECT_EQ(messages[0].topic, "payment.received");
    EXPECT_EQ(messages[0].payload, body);
    EXPECT_EQ(messages[0].hash, sha256_bytes(body));
    EXPECT_EQ(messages[0].content_type, "application/json");
}

TEST_P(ReceiverTest, WhatDoesNotVerifyWritesNothing) {
    const auto rejected = [&](const std::vector<Header>& headers, Authenticity authenticity,
                              int status, std::string_view text = body) {
        const Receipt receipt = receive(headers, text);
        EXPECT_EQ(receipt.outcome, Outcome::rejected);
        EXPECT_EQ(receipt.authenticity, authenticity);
        EXPECT_EQ(receipt.id, std::nullopt);
        EXPECT_EQ(http_status(receipt), status) << to_string(authenticity);
    };
    rejected({}, Authenticity::missing_header, 400);
    rejected(standard_headers(message_id, "yesterday"), Authenticity::malformed, 400);
    rejected(standard_headers(message_id, timestamp, std::string(1'000'000, 'x')),
             Authenticity::header_too_large, 431);
    rejected(standard_headers(message_id, timestamp, signature_two),
             Authenticity::no_matching_signature, 401);
    rejected(standard_headers(message_id, timestamp, "v2,x"), Authenticity::unknown_version, 401);
    rejected(standard_headers(), Authenticity::no_matching_signature, 401, "{}");
    clock_.advance(301s);
    rejected(standard_headers(), Authenticity::timestamp_too_old, 401);
    clock_.advance(-602s);
    rejected(standard_headers(), Authenticity::timestamp_in_future, 401);
    EXPECT_THAT(stored(), testing::IsEmpty());
}

TEST_P(ReceiverTest, AReplayBeforeHandlingIsADuplicate) {
    const Receipt first = receive(standard_headers());
    const Receipt second = receive(standard_headers());
    EXPECT_EQ(second.outcome, Outcome::duplicate);
    EXPECT_EQ(second.id, first.id);
    EXPECT_FALSE(second.hash_mismatch);
    EXPECT_EQ(http_status(second), 200);
    EXPECT_EQ(stored().size(), 1u);
}

TEST_P(ReceiverTest, AReplayInsideTheWindowTakesNoSecondEffect) {
    int effects = 0;
    const auto handle_all = [&] {
        for (const Message& message : inbox_.claim(inbox_.owner(), 30s, 10)) {
            ++effects;
            EXPECT_EQ(inbox_.ack(std::vector{*message.lease}), std::vector{Settled::done});
        }
    };
    receive(standard_headers());
    handle_all();
    ASSERT_EQ(effects, 1);
    clock_.advance(299s);
    const Receipt replay = receive(standard_headers());
    handle_all();
    EXPECT_EQ(replay.outcome, Outcome::duplicate);
    EXPECT_EQ(replay.id, std::nullopt);
    EXPECT_EQ(effects, 1);
}

TEST_P(ReceiverTest, ASenderThatSignsAgainForItsRetryIsRecognised) {
    receive(standard_headers());
    clock_.advance(1h);
    EXPECT_EQ(receive(scheme_.sign(message_id, body)).outcome, Outcome::duplicate);
    EXPECT_EQ(stored().size(), 1u);
}

// Noting an id before its signature is verified would let anybody keep a message out.
TEST_P(ReceiverTest, AForgedMessageDoesNotBlockTheGenuineOne) {
    const std::string forged = R"({"type":"payment.received","amount":0})";
    EXPECT_EQ(receive(standard_headers(), forged).outcome, Outcome::rejected);
    EXPECT_EQ(receive(standard_headers(message_id, timestamp, signature_two), forged).outcome,
              Outcome::rejected);
    const Receipt genuine = receive(standard_headers());
    EXPECT_EQ(genuine.outcome, Outcome::accepted);
    EXPECT_FALSE(genuine.hash_mismatch);
    ASSERT_EQ(stored().size(), 1u);
    EXPECT_EQ(stored()[0].payload, body);
}

TEST_P(ReceiverTest, AnIdUsedForAnotherBodyIsReported) {
    receive(standard_headers());
    const std::string other = R"({"type":"payment.received","amount":9})";
    const Receipt receipt = receive(scheme_.sign(message_id, other), other);
    EXPECT_EQ(receipt.outcome, Outcome::duplicate);
    EXPECT_TRUE(receipt.hash_mismatch);
    EXPECT_EQ(inbox_.hash_mismatches(), 1u);
}

TEST_P(ReceiverTest, AMessageThatWasOnlySeenIsQueued) {
    EXPECT_FALSE(inbox_.already_processed({.source = "shop", .message_id = message_id}));
    EXPECT_EQ(receive(standard_headers()).outcome, Outcome::accepted);
    EXPECT_EQ(stored().at(0).state, State::ready);
}

TEST_P(ReceiverTest, ADeadMessageStaysDead) {
    receive(standard_headers());
    ASSERT_TRUE(inbox_.mark_dead({.source = "shop", .message_id = message_id}, "poison"));
    EXPECT_EQ(receive(standard_headers()).outcome, Outcome::duplicate);
    EXPECT_EQ(stored().at(0).state, State::dead);
}

TEST_P(ReceiverTest, TheSameIdFromTwoSourcesIsTwoMessages) {
    const Receiver other(inbox_, scheme_, {.source = "bank", .topic = "payment.received"});
    EXPECT_EQ(receive(standard_headers()).outcome, Outcome::accepted);
    EXPECT_EQ(other.receive(views(standard_headers()), body).outcome, Outcome::accepted);
    EXPECT_EQ(stored().size(), 2u);
}

TEST_P(ReceiverTest, InATransactionTheMessageComesWithTheCommit) {
    {
        const std::unique_ptr<Transaction> tx = store().begin();
        EXPECT_EQ(receiver_.receive(*tx, views(standard_headers()), body).outcome,
                  Outcome::accepted);
        tx->rollback();
    }
    EXPECT_THAT(stored(), testing::IsEmpty());
    const std::unique_ptr<Transaction> tx = store().begin();
    EXPECT_EQ(receiver_.receive(*tx, views(standard_headers()), body).outcome, Outcome::accepted);
    tx->commit();
    EXPECT_EQ(stored().size(), 1u);
}

TEST_P(ReceiverTest, ABodyThatIsTooLongIsUnusable) {
    const std::string longest(store().limits().max_payload_bytes, 'x');
    EXPECT_EQ(receive(scheme_.sign("longest", longest), longest).outcome, Outcome::accepted);
    const std::string longer = longest + 'x';
    const Receipt receipt = receive(scheme_.sign("longer", longer), longer);
    EXPECT_EQ(receipt.outcome, Outcome::rejected);
    EXPECT_EQ(receipt.authenticity, Authenticity::unusable_message);
    EXPECT_EQ(http_status(receipt), 422);
    EXPECT_THAT(receipt.reason, testing::HasSubstr("max_payload_bytes"));
    EXPECT_EQ(stored().size(), 1u);
}

// Bodies here are "<topic> <id>".
std::optional<std::string> first_word(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    return std::string(text.substr(0, space));
}
std::optional<std::string> second_word(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    return std::string(text.substr(space + 1));
}

TEST_P(ReceiverTest, StripeStyleTakesTheIdFromTheBody) {
    const StripeStyle scheme({{"live", stripe_secret}}, {.clock = &clock_});
    const Receiver receiver(
        inbox_, scheme, {.source = "stripe", .topic_of = first_word, .message_id_of = second_word});
    const auto receive_text = [&](const std::string& text) {
        return receiver.receive(views({scheme.sign(text)}), text);
    };
    const Receipt receipt = receive_text("invoice.paid evt_1");
    EXPECT_EQ(receipt.outcome, Outcome::accepted);
    EXPECT_EQ(receipt.message_id, "evt_1");
    EXPECT_EQ(stored().at(0).topic, "invoice.paid");
    EXPECT_EQ(receive_text("invoice.paid evt_1").outcome, Outcome::duplicate);

    for (const std::string& text : {std::string("no-id"), std::string("topic "), std::string(" id"),
                                    "topic " + std::string(256, 'x'), std::string("topic \xff"),
                                    std::string(256, 'x') + " id"}) {
        const Receipt unusable = receive_text(text);
        EXPECT_EQ(unusable.authenticity, Authenticity::unusable_message) << text;
        EXPECT_EQ(unusable.outcome, Outcome::rejected);
        EXPECT_NE(unusable.reason, "");
    }
    EXPECT_EQ(stored().size(), 1u);
}

TEST_P(ReceiverTest, AnExtractorSeesVerifiedBodiesOnly) {
    int calls = 0;
    const Receiver receiver(inbox_, scheme_, {.source = "shop", .topic_of = [&](std::string_view) {
                                                  ++calls;
                                                  return std::optional<std::string>("topic");
                                              }});
    receiver.receive(views(standard_headers()), "{}");
    EXPECT_EQ(calls, 0);
    receiver.receive(views(standard_headers()), body);
    EXPECT_EQ(calls, 1);
}

TEST_P(ReceiverTest, IncompleteOptionsAreRefused) {
    const auto make = [&](const webhooks::Scheme& scheme, const ReceiverOptions& options) {
        const Receiver receiver(inbox_, scheme, options);
    };
    const StripeStyle stripe({{"live", stripe_secret}});
    EXPECT_THROW(make(scheme_, {.topic = "t"}), std::invalid_argument);
    EXPECT_THROW(make(scheme_, {.source = "s"}), std::invalid_argument);
    EXPECT_THROW(make(scheme_, {.source = "s", .topic = "t", .topic_of = first_word}),
                 std::invalid_argument);
    EXPECT_THROW(make(stripe, {.source = "s", .topic = "t"}), std::invalid_argument);
    EXPECT_NO_THROW(make(stripe, {.source = "s", .topic = "t", .message_id_of = first_word}));
}

class OpenMemoryStore final : public OpenStore {
public:
    Store& store() override { return store_; }

private:
    MemoryStore store_;
};

INSTANTIATE_TEST_SUITE_P(Memory, ReceiverTest,
                         testing::Values(StoreKind{
                             "Memory", [] { return std::make_unique<OpenMemoryStore>(); }}),
                         kind_name);

}  // namespace
}  // namespace postroom::test
