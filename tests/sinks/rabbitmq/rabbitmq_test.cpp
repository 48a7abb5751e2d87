#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "postroom/sink.hpp"
#include "sinks/messages.hpp"
#include "sinks/rabbitmq/breaking_proxy.hpp"
#include "sinks/rabbitmq/link.hpp"
#include "sinks/rabbitmq/rabbit_client.hpp"
#include "sinks/rabbitmq/stalling_proxy.hpp"
#include "sinks/refusal.hpp"
#include "support/matchers.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

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
    template <class Proxy>
    std::string url_of(const Proxy& proxy) const {
        return fmt::format("amqp://{}:{}@127.0.0.1:{}", server.user, server.password, proxy.port());
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

TEST_F(RabbitSinkTest, AProbeSignsIn) {
    EXPECT_TRUE(sink()->probe());
    EXPECT_THROW(sink_to("amqp://guest:wrong@127.0.0.1:1")->probe(), DestinationDown);
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

TEST_F(RabbitSinkTest, AFullQueueIsNoOutageOfTheOthers) {
    const std::string exchange = unique_rabbit_name();
    const std::string small = unique_rabbit_name();
    client.declare_exchange(exchange);
    client.declare_queue(small, 1);
    client.bind(queue, exchange, "order.placed");
    client.bind(small, exchange, "order.full");
    const auto rabbit = sink_to(server.url(), {{"exchange", exchange}});
    std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c"),
                                  message_with("d")};
    for (std::size_t i = 0; i < 3; ++i) messages[i].topic = "order.full";
    send_all(*rabbit, messages);  // fills it
    const std::vector<Verdict> verdicts = send_all(*rabbit, messages);
    EXPECT_EQ(verdicts[0].outcome, Outcome::release);
    EXPECT_FALSE(verdicts[0].destination_down);
    EXPECT_EQ(verdicts[3].outcome, Outcome::ack);
    client.delete_queue(small);
    client.delete_exchange(exchange);
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

TEST_F(RabbitSinkTest, HeadersThatNoFrameHoldsMakeTheMessageDeadAndHoldUpNobody) {
    std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c"),
                                  message_with("d")};
    messages[1].headers = {{"large", std::string(2'000'000, 'x')}};
    messages[2].headers = {{"large", std::string(130'000, 'x')}};  // a frame has 131072
    const std::vector<Verdict> verdicts = send_all(*sink(), messages);
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::fail);
    EXPECT_THAT(verdicts[1].error, HasSubstr("headers take 200"));
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[3].outcome, Outcome::ack);
}

// The server and we must count alike, around the very limit.
TEST_F(RabbitSinkTest, TheLargestHeadersThatFitAreTaken) {
    bool taken = false;
    bool refused = false;
    const auto rabbit = sink();
    for (std::size_t size = 130'900; size <= 131'000; size += 1) {
        Message message = message_with("m");
        message.headers = {{"large", std::string(size, 'x')}};
        const Verdict verdict = send_one(*rabbit, message);
        ASSERT_FALSE(verdict.destination_down) << size << verdict.error;
        (verdict.outcome == Outcome::ack ? taken : refused) = true;
        ASSERT_FALSE(refused && verdict.outcome == Outcome::ack) << size;
    }
    EXPECT_TRUE(taken);
    EXPECT_TRUE(refused);
}

TEST_F(RabbitSinkTest, AHeaderThatTheServerRefusesIsNoOutage) {
    std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c")};
    messages[1].headers = {{"CC", "must be an array for the server"}};
    const std::vector<Verdict> verdicts = send_all(*sink(), messages);
    EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
    EXPECT_EQ(verdicts[1].outcome, Outcome::fail) << verdicts[1].error;
    EXPECT_FALSE(verdicts[1].destination_down);
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
}

// Goal: a message that ends its connection every time is no endless outage of the others.
// Method: a proxy hangs up on it, without a word of AMQP, as a firewall or a bug would.
TEST_F(RabbitSinkTest, AMessageThatBreaksItsConnectionCostsAttemptsOfItsOwn) {
    const BreakingProxy proxy(server.port, "poison");
    const auto rabbit = sink_to(url_of(proxy), {{"routing_key", queue}});
    const std::vector<Message> messages{message_with("bad", "poison"), message_with("a"),
                                        message_with("b")};
    EXPECT_TRUE(send_all(*rabbit, messages)[0].destination_down) << "the first time is an outage";
    const std::vector<Verdict> verdicts = send_all(*rabbit, messages);
    EXPECT_EQ(verdicts[0].outcome, Outcome::abandon) << verdicts[0].error;
    EXPECT_FALSE(verdicts[0].destination_down);
    EXPECT_THAT(verdicts[0].error, HasSubstr("again; other messages are answered"));
    EXPECT_EQ(verdicts[1].outcome, Outcome::ack) << verdicts[1].error;
    EXPECT_EQ(verdicts[2].outcome, Outcome::ack) << verdicts[2].error;
    EXPECT_GE(proxy.broken(), 3);
}

TEST_F(RabbitSinkTest, AMessageAloneThatBreaksItsConnectionStepsAside) {
    const BreakingProxy proxy(server.port, "poison");
    const auto rabbit = sink_to(url_of(proxy), {{"routing_key", queue}});
    EXPECT_TRUE(send_one(*rabbit, message_with("bad", "poison")).destination_down);
    const Verdict again = send_one(*rabbit, message_with("bad", "poison"));
    EXPECT_EQ(again.outcome, Outcome::release);
    EXPECT_FALSE(again.destination_down) << "others show whether the server works";
    EXPECT_EQ(send_one(*rabbit, message_with("a")).outcome, Outcome::ack);
    EXPECT_EQ(send_one(*rabbit, message_with("bad", "poison")).outcome, Outcome::abandon);
}

// Goal: a queue that does not confirm, such as one without a majority, costs no attempts, however
// many messages of other queues are confirmed in between.
// Method: a proxy lets nothing arrive from that message on, and keeps the connection.
TEST_F(RabbitSinkTest, AMessageThatIsNotConfirmedCostsNoAttemptWhileOthersAre) {
    const BreakingProxy proxy(server.port, "poison", BreakingProxy::Manner::fall_silent);
    // Long enough for a server whose disk stalls to confirm the other one.
    const auto rabbit = sink_to(url_of(proxy), {{"routing_key", queue}, {"confirm_timeout", "6s"}});
    const Message silent = message_with("silent", "poison");
    for (int round = 0; round < 3; ++round) {
        const Verdict alone = send_one(*rabbit, silent);
        EXPECT_EQ(alone.outcome, Outcome::release) << alone.error;
        EXPECT_TRUE(alone.destination_down);
        EXPECT_THAT(alone.error, HasSubstr("no confirmation in time"));
        const std::vector<Verdict> both = send_all(*rabbit, {message_with("a"), silent});
        EXPECT_EQ(both[0].outcome, Outcome::ack) << both[0].error;
        EXPECT_EQ(both[1].outcome, Outcome::release) << both[1].error;
        EXPECT_FALSE(both[1].destination_down) << "the others need not wait with it";
    }
    EXPECT_EQ(proxy.broken(), 6);
}

TEST_F(RabbitSinkTest, LargeMessagesThatComeBackAreNoOutage) {
    const auto rabbit = sink({{"routing_key", unique_rabbit_name()}});
    const std::vector<Verdict> verdicts =
        send_all(*rabbit, {message_with("a", std::string(500'000, 'x')), message_with("b", ""),
                           message_with("c", std::string(300'000, 'y'))});
    for (const Verdict& verdict : verdicts) {
        EXPECT_EQ(verdict.outcome, Outcome::abandon);
        EXPECT_FALSE(verdict.destination_down);
        EXPECT_THAT(verdict.error, HasSubstr("no queue takes"));
    }
}

TEST_F(RabbitSinkTest, AServerThatFallsSilentInTheMiddleOfAReturnIsAnOutage) {
    const StallingProxy proxy(server.port, StallingProxy::basic_return);
    const auto rabbit =
        sink_to(url_of(proxy), {{"routing_key", unique_rabbit_name()}, {"confirm_timeout", "10s"}});
    const Verdict verdict = send_one(*rabbit, message_with("m1", std::string(400'000, 'x')));
    EXPECT_TRUE(proxy.stalled());
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, HasSubstr("no confirmation in time"));
}

TEST_F(RabbitSinkTest, AnOutageEndsTheTrialOfSingleMessages) {
    constexpr int count = 40;
    const StallingProxy proxy(server.port, StallingProxy::channel_close);
    const auto rabbit = sink_to(url_of(proxy), {{"routing_key", queue}, {"connect_timeout", "8s"}});
    std::vector<Message> messages;
    for (int i = 0; i < count; ++i) messages.push_back(message_with(fmt::format("m{}", i)));
    // The server closes the channel for it; to try each alone takes a new connection.
    messages.front().headers = {{"CC", "must be an array for the server"}};
    const auto begun = std::chrono::steady_clock::now();
    const std::vector<Verdict> verdicts = send_all(*rabbit, messages);
    EXPECT_TRUE(proxy.stalled());
    EXPECT_LT(std::chrono::steady_clock::now() - begun, count * 8s / 2) << "each had its turn";
    EXPECT_TRUE(verdicts.front().destination_down);
    EXPECT_TRUE(verdicts.back().destination_down);
}

TEST_F(RabbitSinkTest, AllStepsOfConnectingShareOneTime) {
    // Login takes three frames of the server's, channel and confirmations one each.
    const StallingProxy proxy(server.port, StallingProxy::none, 600ms);
    const auto rabbit =
        sink_to(url_of(proxy), {{"routing_key", queue}, {"connect_timeout", "2400ms"}});
    const Verdict verdict = send_one(*rabbit, message_with("m1"));
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_TRUE(verdict.destination_down);
}

TEST_F(RabbitSinkTest, AStopEndsALoginThatTheServerDoesNotAnswer) {
    const StallingProxy proxy(server.port, StallingProxy::connection_start);
    const auto rabbit = sink_to(url_of(proxy), {{"connect_timeout", "10m"}});
    std::stop_source stop;
    std::jthread stopper([&] {
        wait_until([&] { return proxy.stalled(); }, 60s);
        stop.request_stop();
    });
    const Verdict verdict = send_all(*rabbit, {message_with("m1")}, stop.get_token()).at(0);
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_FALSE(verdict.destination_down);
}

TEST(RabbitLinkLost, OnlyWhatTheServerFindsImpossibleMakesAMessageDead) {
    using sink_rabbitmq::LinkLost;
    const LinkLost impossible("too large", AMQP_PRECONDITION_FAILED);
    EXPECT_EQ(impossible.verdict_of_one_message("amqp://h").outcome, Outcome::fail);
    EXPECT_EQ(impossible.verdict_of_one_message("amqp://h").error, "amqp://h: too large");
    for (const int code : {AMQP_FRAME_ERROR, AMQP_SYNTAX_ERROR, AMQP_UNEXPECTED_FRAME}) {
        const LinkLost misunderstood("what?", code);
        EXPECT_TRUE(misunderstood.may_be_of_one_message());
        EXPECT_EQ(misunderstood.verdict_of_one_message("amqp://h").outcome, Outcome::abandon);
    }
    EXPECT_FALSE(LinkLost("bye", AMQP_CONNECTION_FORCED).may_be_of_one_message());
    const LinkLost unsendable("table too large", LinkLost::unsendable);
    EXPECT_TRUE(unsendable.may_be_of_one_message());
    EXPECT_EQ(unsendable.verdict_of_one_message("amqp://h").outcome, Outcome::abandon);
}

TEST_F(RabbitSinkTest, AStopBeforehandReleases) {
    std::stop_source stop;
    stop.request_stop();
    const Verdict verdict = send_all(*sink(), {message_with("m1")}, stop.get_token()).at(0);
    EXPECT_EQ(verdict.outcome, Outcome::release);
    EXPECT_FALSE(verdict.destination_down);
}

std::string refusal(const std::map<std::string, std::string>& settings) {
    return refusal_of(
        [&] { make_sink({.name = "rabbit", .type = "rabbitmq", .settings = settings}); });
}

TEST(RabbitSinkSettings, APasswordDoesNotLeaveTheMachineUnprotected) {
    EXPECT_THAT(refusal({{"url", "amqp://me:hunter2@example.com/"}}),
                AllOf(HasSubstr("url|"), HasSubstr("amqps://"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(refusal({{"url", "amqp://127.anything.example"}}), HasSubstr("amqps://"));
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
    EXPECT_EQ(verdict.error, "amqp://127.0.0.1:1: connecting: Connection refused");
}

TEST(RabbitSinkSettings, AnEmptyVirtualHostDrawsAWarning) {
    EXPECT_THAT(sink_to("amqp://me:hunter2@127.0.0.1/")->warnings(),
                testing::ElementsAre(
                    AllOf(HasSubstr("virtual host"), HasSubstr("%2f"), Not(HasSubstr("hunter2")))));
    for (const char* url : {"amqp://127.0.0.1", "amqp://127.0.0.1/%2f", "amqp://127.0.0.1/shop"})
        EXPECT_THAT(sink_to(url)->warnings(), testing::IsEmpty()) << url;
}

}  // namespace
}  // namespace postroom::test
