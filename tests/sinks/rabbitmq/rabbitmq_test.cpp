#include <gmock/gmock.h>

#include <map>
#include <optional>

#include <fmt/format.h>

#include "postroom/sink.hpp"
#include "sinks/messages.hpp"
#include "sinks/rabbitmq/rabbit_client.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::unique_ptr<Sink> sink_to(const std::string& url,
                              std::map<std::string, std::string> settings = {}) {
    settings["url"] = url;
    return make_sink({.name = "rabbit", .type = "rabbitmq", .settings = std::move(settings)});
}

// A queue of the test's own on the server of the test run.
class RabbitSinkTest : public testing::Test {
protected:
    RabbitSinkTest() { client.declare_queue(queue); }
    ~RabbitSinkTest() override { client.delete_queue(queue); }

    std::unique_ptr<Sink> sink(std::map<std::string, std::string> settings = {}) {
        settings.try_emplace("routing_key", queue);
        return sink_to(server.url(), std::move(settings));
    }

    const RabbitServer server = RabbitServer::shared();
    const std::string queue = unique_rabbit_name();
    RabbitClient client{server};
};

TEST_F(RabbitSinkTest, AMessageArrivesPersistentAndWithItsFields) {
    Message message = keyed_message("m1", "k");
    message.payload = std::string("a\0b", 3);
    message.content_type = "application/octet-stream";
    message.correlation_id = "c1";
    message.headers = {{"traceparent", "00-1\r\n"}};
    EXPECT_EQ(send_one(*sink(), message).outcome, Outcome::ack);
    const std::optional<RabbitMessage> received = client.get(queue);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->body, message.payload);
    EXPECT_EQ(received->message_id, "m1");
    EXPECT_EQ(received->type, "order.placed");
    EXPECT_EQ(received->content_type, "application/octet-stream");
    EXPECT_EQ(received->correlation_id, "c1");
    EXPECT_EQ(received->delivery_mode, 2);
    EXPECT_EQ(received->headers, (std::map<std::string, std::string>{{"ordering_key", "k"},
                                                                     {"traceparent", "00-1\r\n"}}));
}

TEST_F(RabbitSinkTest, ABatchIsConfirmedAndKeepsItsOrder) {
    std::vector<Message> messages;
    for (int i = 0; i < 200; ++i) messages.push_back(message_with(fmt::format("m{}", i)));
    const auto rabbit = sink();
    for (const Verdict& verdict : send_all(*rabbit, messages))
        EXPECT_EQ(verdict.outcome, Outcome::ack);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(client.get(queue)->message_id, fmt::format("m{}", i));
    EXPECT_EQ(send_one(*rabbit, message_with("again")).outcome, Outcome::ack);
}

TEST_F(RabbitSinkTest, TheTopicIsTheRoutingKeyOfAnExchange) {
    const std::string exchange = unique_rabbit_name();
    client.declare_exchange(exchange);
    client.bind(queue, exchange, "order.*");
    const auto rabbit = sink_to(server.url(), {{"exchange", exchange}});
    EXPECT_EQ(send_one(*rabbit, message_with("m1")).outcome, Outcome::ack);
    EXPECT_EQ(client.get(queue)->message_id, "m1");
    client.delete_exchange(exchange);
}

TEST_F(RabbitSinkTest, WhatNoQueueTakesComesBack) {
    const std::map<std::string, std::string> nowhere{{"routing_key", unique_rabbit_name()}};
    const Verdict retried = send_one(*sink(nowhere), message_with("m1"));
    EXPECT_EQ(retried.outcome, Outcome::abandon);
    EXPECT_FALSE(retried.destination_down);
    EXPECT_THAT(retried.error, HasSubstr("no queue takes"));
    std::map<std::string, std::string> dead = nowhere;
    dead["unroutable"] = "dead";
    EXPECT_EQ(send_one(*sink(dead), message_with("m1")).outcome, Outcome::fail);
}

TEST_F(RabbitSinkTest, OnlyTheMessageThatNobodyTakesComesBack) {
    const std::string exchange = unique_rabbit_name();
    client.declare_exchange(exchange);
    client.bind(queue, exchange, "order.placed");
    const auto rabbit = sink_to(server.url(), {{"exchange", exchange}});
    std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c")};
    messages[1].topic = "nobody.cares";
    const std::vector<Verdict> verdicts = send_all(*rabbit, messages);
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::abandon);
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
    client.delete_exchange(exchange);
}

TEST_F(RabbitSinkTest, AFullQueueCostsNoAttempt) {
    const std::string small = unique_rabbit_name();
    client.declare_queue(small, 1);
    const auto rabbit = sink({{"routing_key", small}});
    // Which of the first two fills it is the server's choice; the third has no room.
    send_all(*rabbit, {message_with("a"), message_with("b")});
    const Verdict verdict = send_one(*rabbit, message_with("c"));
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_TRUE(verdict.destination_down);
    client.delete_queue(small);
}

TEST_F(RabbitSinkTest, AMissingExchangeIsAnOutage) {
    const auto rabbit = sink({{"exchange", "no_such_exchange"}});
    const Verdict verdict = send_one(*rabbit, message_with("m1"));
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, HasSubstr("no_such_exchange"));
}

TEST_F(RabbitSinkTest, AWrongPasswordIsAnOutageWithoutThePassword) {
    const auto rabbit = sink_to(fmt::format("amqp://postroom:hunter2@127.0.0.1:{}", server.port));
    const Verdict verdict = send_one(*rabbit, message_with("m1"));
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, AllOf(HasSubstr("login"), Not(HasSubstr("hunter2"))));
}

TEST_F(RabbitSinkTest, AMessageThatAmqpCannotCarryIsDeadAndHoldsUpNobody) {
    std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c")};
    messages[1].headers = {{std::string(300, 'x'), "1"}};
    const std::vector<Verdict> verdicts = send_all(*sink(), messages);
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::fail);
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
}

TEST_F(RabbitSinkTest, AStopBeforehandReleases) {
    std::stop_source stop;
    stop.request_stop();
    const Verdict verdict = send_all(*sink(), {message_with("m1")}, stop.get_token()).at(0);
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_FALSE(verdict.destination_down);
}

std::string refusal(const std::map<std::string, std::string>& settings) {
    try {
        make_sink({.name = "rabbit", .type = "rabbitmq", .settings = settings});
    } catch (const SinkConfigError& error) {
        return error.setting() + "|" + error.what();
    }
    return {};
}

TEST(RabbitSinkSettings, APasswordDoesNotLeaveTheMachineUnprotected) {
    EXPECT_THAT(refusal({{"url", "amqp://me:hunter2@example.com/"}}),
                AllOf(HasSubstr("url|"), HasSubstr("amqps://"), Not(HasSubstr("hunter2"))));
    EXPECT_EQ(refusal({{"url", "amqp://me:hunter2@example.com"}, {"allow_plaintext", "true"}}), "");
    EXPECT_EQ(refusal({{"url", "amqps://me:hunter2@example.com"}}), "");
    EXPECT_EQ(refusal({{"url", "amqp://me:hunter2@127.0.0.1"}}), "");
    EXPECT_EQ(refusal({{"url", "amqp://me:hunter2@localhost:1"}}), "");
}

TEST(RabbitSinkSettings, BadOnesAreRefused) {
    EXPECT_THAT(refusal({{"url", "http://hunter2"}}),
                AllOf(HasSubstr("url|"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(refusal({{"url", "amqp://localhost"}, {"exchange", std::string(256, 'x')}}),
                HasSubstr("exchange|"));
    EXPECT_THAT(refusal({{"url", "amqp://localhost"}, {"unroutable", "drop"}}),
                HasSubstr("one of retry, dead"));
}

TEST(RabbitSinkSettings, DestinationHoldsNoSecret) {
    EXPECT_EQ(sink_to("amqps://me:hunter2@h/shop")->destination(), "amqps://h:5671");
}

TEST(RabbitSinkSettings, AServerThatIsAwayIsAnOutage) {
    const Verdict verdict = send_one(*sink_to("amqp://127.0.0.1:1"), message_with("m1"));
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, HasSubstr("amqp://127.0.0.1:1"));
}

}  // namespace
}  // namespace postroom::test
