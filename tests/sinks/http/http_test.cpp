#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "postroom/sink.hpp"
#include "postroom/webhooks.hpp"
#include "sinks/http/http_server.hpp"
#include "sinks/http/lane.hpp"
#include "sinks/http/verdict.hpp"
#include "sinks/messages.hpp"
#include "sinks/refusal.hpp"
#include "sinks/tls_peer.hpp"
#include "support/matchers.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* key_one = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
constexpr const char* key_two = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

// A server that keeps what came and answers what it is told to.
class Endpoint {
public:
    void answer_with(HttpAnswer answer) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(answer);
    }
    std::vector<HttpRequest> requests() {
        const std::lock_guard lock(mutex_);
        return requests_;
    }
    HttpRequest last() { return requests().back(); }

private:
    std::mutex mutex_;
    std::vector<HttpRequest> requests_;
    HttpAnswer answer_{};

public:
    // Last: it ends before what its threads use.
    HttpServer server{[this](const HttpRequest& request) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        return answer_;
    }};
};

std::unique_ptr<Sink> sink_to(const std::string& url,
                              std::map<std::string, std::string> settings = {}) {
    settings["url"] = url;
    settings.try_emplace("allow_networks", "127.0.0.1");
    return make_sink({.name = "hook", .type = "http", .settings = std::move(settings)});
}

std::string refusal(const std::map<std::string, std::string>& settings) {
    return refusal_of([&] { make_sink({.name = "hook", .type = "http", .settings = settings}); });
}

TEST(HttpSink, AProbeConnectsAndSendsNothing) {
    std::string url;
    {
        Endpoint endpoint;
        url = endpoint.server.url();
        EXPECT_TRUE(sink_to(url)->probe());
        EXPECT_THAT(endpoint.requests(), SizeIs(0));
    }
    try {
        sink_to(url)->probe();
        ADD_FAILURE() << "nobody is there";
    } catch (const DestinationDown& down) {
        EXPECT_THAT(down.what(), HasSubstr("Connection refused"));
    }
}

TEST(HttpSink, BinaryModeCarriesAttributesInHeaders) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"source", "/shop"}});
    Message message = keyed_message("m1", "ké y");
    message.payload = "{\"n\": 1}";
    message.aggregate_id = "17";
    message.correlation_id = "c\"1";
    EXPECT_EQ(send_one(*sink, message).outcome, Outcome::ack);
    const HttpRequest request = endpoint.last();
    EXPECT_EQ(request.line, "POST /hook HTTP/1.1\r");
    EXPECT_EQ(request.body, "{\"n\": 1}");
    EXPECT_EQ(request.header("content-type"), "application/json");
    EXPECT_EQ(request.header("ce-specversion"), "1.0");
    EXPECT_EQ(request.header("ce-id"), "m1");
    EXPECT_EQ(request.header("ce-source"), "/shop");
    EXPECT_EQ(request.header("ce-type"), "order.placed");
    EXPECT_EQ(request.header("ce-time"), "2026-01-31T00:00:00.000000Z");
    EXPECT_EQ(request.header("ce-subject"), "17");
    EXPECT_EQ(request.header("ce-partitionkey"), "k%C3%A9%20y");
    EXPECT_EQ(request.header("ce-correlationid"), "c%221");
    EXPECT_EQ(request.header("webhook-id"), "m1");
    EXPECT_FALSE(request.headers.contains("expect"));
}

TEST(HttpSink, StructuredModeIsOneJsonObject) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"format", "structured"}});
    EXPECT_EQ(send_one(*sink, message_with("m1", "{\"n\": 1}")).outcome, Outcome::ack);
    EXPECT_EQ(endpoint.last().header("content-type"), "application/cloudevents+json");
    EXPECT_EQ(endpoint.last().body,
              R"({"specversion":"1.0","id":"m1","source":"/postroom","type":"order.placed",)"
              R"("time":"2026-01-31T00:00:00.000000Z","datacontenttype":"application/json",)"
              R"("data":{"n":1}})");
    Message bytes = message_with("m2", "\xff");
    bytes.content_type = "application/octet-stream";
    EXPECT_EQ(send_one(*sink, bytes).outcome, Outcome::ack);
    EXPECT_THAT(endpoint.last().body, HasSubstr(R"("data_base64":"/w==")"));
    Message text = message_with("m3", "a\"b");
    text.content_type = "text/plain";
    EXPECT_EQ(send_one(*sink, text).outcome, Outcome::ack);
    EXPECT_THAT(endpoint.last().body, HasSubstr(R"("data":"a\"b")"));
}

TEST(HttpSink, PlainModeSendsThePayloadAndTheTopic) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"format", "plain"}});
    EXPECT_EQ(send_one(*sink, message_with("m1", "")).outcome, Outcome::ack);
    EXPECT_EQ(endpoint.last().header("postroom-topic"), "order.placed");
    EXPECT_EQ(endpoint.last().header("webhook-id"), "m1");
    EXPECT_EQ(endpoint.last().header("content-length"), "0");
    EXPECT_FALSE(endpoint.last().headers.contains("ce-id"));
}

TEST(HttpSink, EveryKeySigns) {
    Endpoint endpoint;
    const auto sink =
        sink_to(endpoint.server.url(), {{"signing_keys", fmt::format("{},{}", key_one, key_two)}});
    EXPECT_EQ(send_one(*sink, message_with("m1", "{\"n\":1}")).outcome, Outcome::ack);
    const HttpRequest request = endpoint.last();
    std::vector<webhooks::HeaderView> headers;
    for (const auto& [name, value] : request.headers) headers.push_back({name, value});
    for (const char* key : {key_one, key_two}) {
        const webhooks::StandardWebhooks scheme({{"k", key}});
        const webhooks::Verification verification = scheme.verify(headers, request.body);
        EXPECT_TRUE(verification.ok()) << webhooks::to_string(verification.authenticity);
        EXPECT_EQ(verification.message_id, "m1");
    }
}

TEST(HttpSink, AnIdThatCannotBeSignedIsDead) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"signing_keys", key_one}});
    const Verdict verdict = send_one(*sink, message_with("a.b"));
    EXPECT_EQ(verdict.outcome, Outcome::fail);
    EXPECT_THAT(verdict.error, HasSubstr("cannot be signed"));
    EXPECT_THAT(endpoint.requests(), SizeIs(0));
}

TEST(HttpSink, HeadersOfTheMessageCannotBreakOutOrReplaceOurs) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"authorization", "Bearer t0ken"}});
    Message message = message_with("m1");
    message.headers = {{"traceparent", "00-1"}, {"evil", "a\r\nInjected: 1"}, {"Host", "other"},
                       {"ce-id", "other"},      {"Authorization", "Basic x"}, {"empty", ""}};
    EXPECT_EQ(send_one(*sink, message).outcome, Outcome::ack);
    const HttpRequest request = endpoint.last();
    EXPECT_EQ(request.header("traceparent"), "00-1");
    EXPECT_EQ(request.header("evil"), "a%0D%0AInjected: 1");
    EXPECT_TRUE(request.headers.contains("empty"));
    EXPECT_FALSE(request.headers.contains("injected"));
    EXPECT_EQ(request.header("ce-id"), "m1");
    EXPECT_EQ(request.header("authorization"), "Bearer t0ken");
    EXPECT_THAT(request.header("host"), HasSubstr("127.0.0.1"));
    message.headers = {{"bad name", "x"}};
    EXPECT_EQ(send_one(*sink, message).outcome, Outcome::fail);
}

TEST(HttpSink, HeadersThatNoRequestHoldsMakeTheMessageDeadAndHoldUpNobody) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url());
    std::vector<Message> messages{message_with("a"), message_with("b"), message_with("c"),
                                  message_with("d")};
    messages[1].headers = {{"large", std::string(2'000'000, 'x')}};
    messages[2].headers = {{"large", std::string(500'000, 'x')}};
    for (int round = 0; round < 3; ++round) {
        const std::vector<Verdict> verdicts = send_all(*sink, messages);
        EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
        EXPECT_EQ(verdicts[1].outcome, Outcome::fail) << verdicts[1].error;
        EXPECT_FALSE(verdicts[1].destination_down);
        EXPECT_THAT(verdicts[1].error, HasSubstr("headers take 2000"));
        EXPECT_EQ(verdicts[2].outcome, Outcome::ack) << verdicts[2].error;
        EXPECT_EQ(verdicts[3].outcome, Outcome::ack);
    }
}

TEST(HttpSink, WhatTheClientLibraryCannotSendIsNoOutage) {
    for (const CURLcode code : {CURLE_URL_MALFORMAT, CURLE_READ_ERROR, CURLE_BAD_FUNCTION_ARGUMENT,
                                CURLE_SEND_FAIL_REWIND})
        EXPECT_TRUE(sink_http::is_of_the_request(code)) << code;
    for (const CURLcode code : {CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_RECV_ERROR,
                                CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_OPERATION_TIMEDOUT,
                                CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR})
        EXPECT_FALSE(sink_http::is_of_the_request(code)) << code;
    const Verdict verdict = sink_http::verdict_of(
        {.fault = sink_http::Reply::Fault::local, .why = "too large"}, "https://h:443");
    EXPECT_EQ(verdict.outcome, Outcome::abandon) << "it costs the message an attempt";
    EXPECT_FALSE(verdict.destination_down);
}

// Goal: a machine without memory, and errors of a newer libcurl, cost no message an attempt, not
// even while others are answered.
TEST(HttpSink, AnErrorThatIsNotKnownToBeOfTheMessageIsAnOutage) {
    constexpr auto too_large = static_cast<CURLcode>(100);  // since 8.6
    constexpr auto newer = static_cast<CURLcode>(127);
    for (const CURLcode code : {CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_UNRECOVERABLE_POLL,
                                CURLE_AGAIN, CURLE_AUTH_ERROR, too_large, newer}) {
        EXPECT_FALSE(sink_http::is_of_the_request(code)) << code;
        EXPECT_FALSE(sink_http::is_of_a_connection(code)) << code;
    }
}

// Goal: what we must not tell is not told by way of an answer that repeats it.
// Method: a gateway that answers with the headers it was sent, as text and as JSON.
TEST(HttpSink, AnAnswerThatRepeatsOurHeadersTellsNoSecret) {
    HttpServer gateway([](const HttpRequest& request) {
        std::string body = "you sent";
        for (const char* name : {"authorization", "x-api-key", "webhook-signature"})
            body += fmt::format(" <{}>", request.header(name));
        const std::string authorization = request.header("authorization");
        body += fmt::format(" token={}", authorization.substr(authorization.find(' ') + 1));
        return HttpAnswer{.status = 400, .body = body + R"( {"key":"s3cret \"va\/lue"} end)"};
    });
    const std::map<std::string, std::string> settings{
        {"authorization", "Bearer hunter2-hunter2"},
        {"headers", "X-Api-Key: s3cret \"va/lue"},
        {"signing_keys", fmt::format("{} {}", key_one, key_two)}};
    const auto sink = sink_to(gateway.url(), settings);
    EXPECT_THAT(send_one(*sink, message_with("m1")).error,
                HasSubstr(R"(you sent <***> <***> <***> token=*** {"key":"***"} end)"));
    // Wherever the excerpt ends, no part of a secret stands before its end.
    for (int length = 10; length < 40; ++length) {
        std::map<std::string, std::string> cut = settings;
        cut["excerpt_bytes_max"] = std::to_string(length);
        const std::string error = send_one(*sink_to(gateway.url(), cut), message_with("m1")).error;
        EXPECT_THAT(error, AllOf(HasSubstr(": you sent"), Not(HasSubstr("<B")),
                                 Not(HasSubstr("<s")), Not(HasSubstr("hunter"))))
            << length;
    }
}

TEST(HttpSink, TheErrorTellsHowTheAnswerBegins) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url());
    endpoint.answer_with(
        {.status = 422, .body = "{\"error\":\r\n\"no such \xE2\x80\xAEitem\x1b[2J\"}"});
    const Verdict verdict = send_one(*sink, message_with("m1"));
    EXPECT_EQ(verdict.outcome, Outcome::fail);
    EXPECT_THAT(verdict.error,
                HasSubstr(R"(answered 422: {"error":  "no such \xe2\x80\xaeitem\x1b[2J"})"));
    endpoint.answer_with({.status = 500, .body = std::string(100'000, 'x')});
    EXPECT_THAT(send_one(*sink, message_with("m2")).error,
                AllOf(HasSubstr(std::string(500, 'x')), Not(HasSubstr(std::string(501, 'x')))));
    const auto silent = sink_to(endpoint.server.url(), {{"excerpt_bytes_max", "0"}});
    EXPECT_THAT(send_one(*silent, message_with("m3")).error, Not(HasSubstr("xx")));
}

TEST(HttpSink, HeadersOfTheSettingsGoWithEveryRequest) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(),
                              {{"headers", "X-Api-Key: s3cret value\n\n  X-Env:prod\r\n"}});
    Message message = message_with("m1");
    message.headers = {{"x-api-key", "stolen"}, {"traceparent", "00-1"}};
    EXPECT_EQ(send_one(*sink, message).outcome, Outcome::ack);
    EXPECT_EQ(endpoint.last().header("x-api-key"), "s3cret value") << "the message's is left out";
    EXPECT_EQ(endpoint.last().header("x-env"), "prod");
    EXPECT_EQ(endpoint.last().header("traceparent"), "00-1");
    for (const char* bad : {"no colon hunter2", "bad name: hunter2", "X-Empty:", "X: h\u00e4nter2",
                            "Host: hunter2", "Authorization: hunter2", "ce-id: hunter2"})
        EXPECT_THAT(refusal({{"url", "https://h/"}, {"headers", bad}}),
                    AllOf(HasSubstr("headers|"), Not(HasSubstr("hunter2"))))
            << bad;
}

// The proxy resolves the name of the destination, so that here it need not exist.
TEST(HttpSink, AProxyIsAskedWhenThereIsOne) {
    Endpoint proxy;
    const auto sink =
        sink_to("http://shop.example/hook",
                {{"allow_plaintext", "true"},
                 {"proxy", fmt::format("http://me:s3cret@127.0.0.1:{}", proxy.server.port())}});
    EXPECT_EQ(send_one(*sink, message_with("m1")).outcome, Outcome::ack);
    EXPECT_EQ(proxy.last().line, "POST http://shop.example/hook HTTP/1.1\r");
    EXPECT_EQ(proxy.last().header("proxy-authorization"), "Basic bWU6czNjcmV0");
    EXPECT_EQ(proxy.last().header("ce-id"), "m1");
    for (const char* bad : {"proxy:3128 hunter2", "socks5://hunter2:1", "hunter2://p"})
        EXPECT_THAT(refusal({{"url", "https://h/"}, {"proxy", bad}}),
                    AllOf(HasSubstr("proxy|"), Not(HasSubstr("hunter2"))))
            << bad;
}

TEST(HttpSink, AProxyThatIsNotAllowedIsNotConnectedTo) {
    Endpoint proxy;
    const auto sink = sink_to("https://shop.example/hook",
                              {{"allow_networks", "10.0.0.0/8"},
                               {"proxy", fmt::format("http://127.0.0.1:{}", proxy.server.port())}});
    const Verdict verdict = send_one(*sink, message_with("m1"));
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, HasSubstr("not a public address"));
    EXPECT_EQ(proxy.server.connections(), 0);
}

TEST(HttpSink, ACertificateOfOursIsShownToAServerThatAsksForIt) {
    const Certificate server("localhost");
    const Certificate client("relay.example");
    TlsPeer peer(server, &client);
    const std::string url = "https://localhost:" + peer.port() + "/";
    const std::map<std::string, std::string> trusting{{"ca_file", server.certificate_file()},
                                                      {"allow_networks", "127.0.0.1 ::1"}};
    EXPECT_TRUE(send_one(*sink_to(url, trusting), message_with("m1")).destination_down);
    EXPECT_EQ(peer.next(), "refused");
    std::map<std::string, std::string> known = trusting;
    known["client_certificate"] = client.certificate_file();
    known["client_key"] = client.key_file();
    const Verdict verdict = send_one(*sink_to(url, known), message_with("m1"));
    EXPECT_EQ(verdict.outcome, Outcome::ack) << verdict.error;
    EXPECT_EQ(peer.next(), "secure relay.example");
    EXPECT_THAT(refusal({{"url", "https://h/"}, {"client_key", client.key_file()}}),
                HasSubstr("client_key|"));
    EXPECT_THAT(refusal({{"url", "https://h/"}, {"client_certificate", "/no/such/file"}}),
                HasSubstr("client_certificate|"));
}

TEST(HttpSink, TheStatusDecides) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url("/secret-path?token=hunter2"));
    const std::map<int, Outcome> outcomes{
        {200, Outcome::ack},     {201, Outcome::ack},     {202, Outcome::ack},
        {299, Outcome::ack},     {301, Outcome::abandon}, {307, Outcome::abandon},
        {400, Outcome::fail},    {401, Outcome::abandon}, {403, Outcome::abandon},
        {404, Outcome::abandon}, {405, Outcome::abandon}, {407, Outcome::abandon},
        {408, Outcome::abandon}, {409, Outcome::fail},    {413, Outcome::fail},
        {422, Outcome::fail},    {425, Outcome::abandon}, {429, Outcome::release},
        {500, Outcome::abandon}, {501, Outcome::abandon}, {502, Outcome::release},
        {503, Outcome::release}, {504, Outcome::release}};
    for (const auto& [status, outcome] : outcomes) {
        endpoint.answer_with({.status = status, .headers = "Location: http://127.0.0.1:1/\r\n"});
        const Verdict verdict = send_one(*sink, message_with(fmt::format("m{}", status)));
        EXPECT_EQ(verdict.outcome, outcome) << status;
        EXPECT_EQ(verdict.destination_down, outcome == Outcome::release) << status;
        if (outcome == Outcome::ack) continue;
        EXPECT_THAT(verdict.error,
                    AllOf(HasSubstr(std::to_string(status)), HasSubstr("http://127.0.0.1:"),
                          Not(HasSubstr("secret")), Not(HasSubstr("hunter2"))));
    }
}

TEST(HttpSink, RetryAfterIsHonouredWithinItsLimit) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"retry_after_max", "1m"}});
    endpoint.answer_with({.status = 500, .headers = "Retry-After: 7\r\n"});
    Verdict verdict = send_one(*sink, message_with("m1"));
    EXPECT_EQ(verdict.outcome, Outcome::abandon);
    EXPECT_EQ(verdict.delay, Duration(7s));
    endpoint.answer_with({.status = 500, .headers = "Retry-After: 99999999\r\n"});
    EXPECT_EQ(send_one(*sink, message_with("m1")).delay, Duration(1min));
    endpoint.answer_with({.status = 500, .headers = "Retry-After: soon\r\n"});
    EXPECT_EQ(send_one(*sink, message_with("m1")).delay, std::nullopt);
}

TEST(HttpSink, ADestinationThatAsksForAPauseIsLeftAlone) {
    for (const int status : {429, 503}) {
        Endpoint endpoint;
        const auto sink = sink_to(endpoint.server.url());
        endpoint.answer_with({.status = status, .headers = "Retry-After: 3600\r\n"});
        const Verdict verdict = send_one(*sink, message_with("m1"));
        EXPECT_EQ(verdict.outcome, Outcome::release) << "asked to wait: no attempt";
        EXPECT_TRUE(verdict.destination_down);
        endpoint.answer_with({.status = 204});
        EXPECT_THROW(send_one(*sink, message_with("m2")), DestinationDown);
        EXPECT_THAT(endpoint.requests(), SizeIs(1)) << "the second was not sent";
    }
}

TEST(HttpSink, APauseOfOneMessageIsNotOneOfTheOthers) {
    for (const int status : {429, 503}) {
        HttpServer server([status](const HttpRequest& request) {
            if (request.header("ce-id") != "b") return HttpAnswer{};
            return HttpAnswer{.status = status, .headers = "Retry-After: 7\r\n"};
        });
        const auto sink = sink_to(server.url());
        const std::vector<Verdict> verdicts =
            send_all(*sink, {message_with("a"), message_with("b"), message_with("c")});
        EXPECT_EQ(verdicts[0].outcome, Outcome::ack);
        EXPECT_EQ(verdicts[1].outcome, Outcome::release) << "asked to wait: no attempt";
        EXPECT_FALSE(verdicts[1].destination_down);
        EXPECT_EQ(verdicts[1].delay, Duration(7s));
        EXPECT_EQ(verdicts[2].outcome, Outcome::ack);
        EXPECT_EQ(send_one(*sink, message_with("d")).outcome, Outcome::ack) << "nothing is quiet";
    }
}

TEST(HttpSink, WhoeverIsAskedForAPauseFirstSparesTheRestOfTheBatch) {
    for (const char* headers : {"Retry-After: 3600\r\n", ""}) {
        Endpoint endpoint;
        const auto sink = sink_to(endpoint.server.url(), {{"concurrency", "2"}});
        endpoint.answer_with({.status = 429, .headers = headers});
        std::vector<Message> messages{keyed_message("k1", "k"), keyed_message("k2", "k")};
        for (int i = 0; i < 20; ++i) messages.push_back(message_with(fmt::format("m{}", i)));
        const std::vector<Verdict> verdicts = send_all(*sink, messages);
        EXPECT_THAT(endpoint.requests(), SizeIs(testing::Le(2u))) << "no more than at a time";
        for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.outcome, Outcome::release);
        EXPECT_TRUE(verdicts[0].destination_down);
        EXPECT_TRUE(verdicts.back().destination_down);
    }
}

TEST(HttpSink, AfterThePauseMessagesAreSentAgain) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"retry_after_max", "1s"}});
    endpoint.answer_with({.status = 503, .headers = "Retry-After: 3600\r\n"});
    EXPECT_TRUE(send_one(*sink, message_with("m1")).destination_down);
    endpoint.answer_with({.status = 204});
    const auto is_taken = [&] {
        try {
            return send_one(*sink, message_with("m1")).outcome == Outcome::ack;
        } catch (const DestinationDown&) {
            return false;
        }
    };
    EXPECT_TRUE(wait_until(is_taken, 60s));
}

TEST(HttpSink, GoneDisablesTheEndpoint) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url());
    endpoint.answer_with({.status = 410});
    EXPECT_EQ(send_one(*sink, message_with("m1")).outcome, Outcome::fail);
    endpoint.answer_with({.status = 204});
    const Verdict verdict = send_one(*sink, message_with("m2"));
    EXPECT_EQ(verdict.outcome, Outcome::fail);
    EXPECT_THAT(verdict.error, HasSubstr("410"));
    EXPECT_THAT(endpoint.requests(), SizeIs(1)) << "the second was not sent";
    EXPECT_EQ(send_one(*sink_to(endpoint.server.url()), message_with("m2")).outcome, Outcome::ack);
}

TEST(HttpSink, ADestinationThatIsAwayCostsNoAttempt) {
    std::string url;
    {
        Endpoint endpoint;
        url = endpoint.server.url();
        const auto sink = sink_to(url);
        endpoint.answer_with({.hang_up = true});
        const Verdict broken = send_one(*sink, message_with("m1"));
        EXPECT_EQ(broken.outcome, Outcome::release);
        EXPECT_TRUE(broken.destination_down);
    }
    const Verdict refused = send_one(*sink_to(url), message_with("m1"));
    EXPECT_EQ(refused.outcome, Outcome::release);
    EXPECT_TRUE(refused.destination_down);
    EXPECT_THAT(refused.error, testing::EndsWith(": Connection refused"));
    const Verdict unknown = send_one(*sink_to("https://no-such-host.invalid/"), message_with("m1"));
    EXPECT_TRUE(unknown.destination_down);
}

TEST(HttpSink, SilenceIsAnOutageUnlessOthersAreAnswered) {
    std::atomic<bool> others = false;
    std::atomic<bool> over = false;
    HttpServer server([&](const HttpRequest& request) {
        while (request.header("ce-id") != "good" && !over) std::this_thread::sleep_for(5ms);
        return HttpAnswer{};
    });
    const auto sink = sink_to(server.url(), {{"timeout", "1s"}});
    const Verdict alone = send_one(*sink, message_with("lonely"));
    EXPECT_TRUE(alone.destination_down);
    std::jthread traffic([&](std::stop_token stop) {
        while (!stop.stop_requested()) {
            if (send_one(*sink, message_with("good")).outcome == Outcome::ack) others = true;
        }
    });
    ASSERT_TRUE(wait_until([&] { return others.load(); }, 60s));
    const auto costs_an_attempt = [&] {
        return send_one(*sink, message_with("poison")).outcome == Outcome::abandon;
    };
    EXPECT_TRUE(wait_until(costs_an_attempt, 60s));
    over = true;
}

TEST(HttpSink, AnAddressThatIsNotPublicIsNotConnectedTo) {
    Endpoint endpoint;
    const std::string port = std::to_string(endpoint.server.port());
    // The name is judged by what it resolves to.
    const auto sink = sink_to("http://localhost:" + port + "/", {{"allow_networks", "10.0.0.0/8"}});
    const Verdict verdict = send_one(*sink, message_with("m1"));
    EXPECT_TRUE(verdict.destination_down);
    EXPECT_THAT(verdict.error, HasSubstr("not a public address"));
    EXPECT_EQ(endpoint.server.connections(), 0);
}

TEST(HttpSink, AnAddressInTheUrlIsJudgedAtOnce) {
    for (const char* host :
         {"127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1]", "0.0.0.0",
          "[::ffff:127.0.0.1]", "[::ffff:a00:1]", "169.254.169.254", "10.0.0.1", "[fd00::1]",
          "[64:ff9b::7f00:1]", "192.168.1.1", "[fe80::1]"})
        EXPECT_THAT(refusal({{"url", fmt::format("http://{}/", host)}}),
                    AllOf(HasSubstr("url|"), HasSubstr("allow_networks")))
            << host;
    EXPECT_EQ(refusal({{"url", "https://8.8.8.8/"}}), "");
}

TEST(HttpSink, NothingLeavesTheMachineUnprotectedUnlessThatIsSaid) {
    for (const char* url : {"http://example.com/", "http://127.anything.example/",
                            "http://localhost.example/", "http://8.8.8.8/"}) {
        EXPECT_THAT(refusal({{"url", url}}),
                    AllOf(HasSubstr("url|"), HasSubstr("https://"), HasSubstr("allow_plaintext")))
            << url;
        EXPECT_EQ(refusal({{"url", url}, {"allow_plaintext", "true"}}), "") << url;
    }
    for (const char* url : {"http://localhost:1/", "http://127.0.0.1/", "http://127.1.2.3/",
                            "http://[::1]/", "https://example.com/"})
        EXPECT_EQ(refusal({{"url", url}, {"allow_networks", "127.0.0.0/8 ::1"}}), "") << url;
}

TEST(HttpSink, BadSettingsAreRefusedWithoutTheirSecrets) {
    for (const char* url : {"ftp://h/", "file:///etc/passwd", "gopher://h/", "https://", "h", "",
                            "https://h/a b", "https://h/\r\nx"})
        EXPECT_THAT(refusal({{"url", url}}), HasSubstr("url|")) << url;
    EXPECT_THAT(refusal({{"url", "https://me:hunter2@h/"}}),
                AllOf(HasSubstr("authorization"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(refusal({{"url", "https://h/"}, {"signing_keys", "whsec_hunter2"}}),
                AllOf(HasSubstr("signing_keys|"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(refusal({{"url", "https://h/"}, {"authorization", "hunter2\r\nx"}}),
                AllOf(HasSubstr("authorization|"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(refusal({{"url", "https://h/"}, {"allow_networks", "10/8"}}),
                HasSubstr("allow_networks|"));
    EXPECT_THAT(refusal({{"url", "https://h/"}, {"source", "a b"}}), HasSubstr("source|"));
}

TEST(HttpSink, RequestsOfABatchAreUnderWayTogetherButNeverOfOneKey) {
    std::mutex mutex;
    std::set<std::string> keys_under_way;
    std::size_t under_way = 0;
    std::size_t most = 0;
    bool key_twice = false;
    HttpServer server([&](const HttpRequest& request) {
        const std::string key = request.header("ce-partitionkey");
        {
            const std::lock_guard lock(mutex);
            most = std::max(most, ++under_way);
            if (!key.empty() && !keys_under_way.insert(key).second) key_twice = true;
        }
        std::this_thread::sleep_for(50ms);
        const std::lock_guard lock(mutex);
        --under_way;
        keys_under_way.erase(key);
        return HttpAnswer{};
    });
    const auto sink = sink_to(server.url(), {{"concurrency", "4"}});
    std::vector<Message> messages;
    for (int i = 0; i < 16; ++i) messages.push_back(message_with(fmt::format("m{}", i)));
    for (int i = 0; i < 3; ++i) messages.push_back(keyed_message(fmt::format("k{}", i), "k"));
    for (const Verdict& verdict : send_all(*sink, messages))
        EXPECT_EQ(verdict.outcome, Outcome::ack);
    EXPECT_GT(most, 1u);
    EXPECT_LE(most, 4u);
    EXPECT_FALSE(key_twice);
}

TEST(HttpSink, ConnectionsAreUsedAgain) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url(), {{"concurrency", "2"}});
    for (int i = 0; i < 20; ++i)
        send_all(*sink, {message_with("a"), message_with("b"), message_with("c")});
    EXPECT_LE(endpoint.server.connections(), 4);
}

TEST(HttpSink, ALongAnswerIsCutOffAndItsStatusCounts) {
    Endpoint endpoint;
    const auto sink = sink_to(endpoint.server.url());
    endpoint.answer_with({.status = 200, .body = std::string(1'000'000, 'x')});
    EXPECT_EQ(send_one(*sink, message_with("m1")).outcome, Outcome::ack);
}

TEST(HttpSink, AStopReleasesWhatIsUnderWay) {
    std::atomic<bool> arrived = false;
    std::atomic<bool> over = false;
    HttpServer server([&](const HttpRequest&) {
        arrived = true;
        while (!over) std::this_thread::sleep_for(5ms);
        return HttpAnswer{};
    });
    const auto sink = sink_to(server.url(), {{"timeout", "5m"}, {"concurrency", "1"}});
    std::stop_source stop;
    std::jthread stopper([&] {
        wait_until([&] { return arrived.load(); }, 60s);
        stop.request_stop();
    });
    const std::vector<Verdict> verdicts =
        send_all(*sink, {message_with("m1"), message_with("m2")}, stop.get_token());
    over = true;
    for (const Verdict& verdict : verdicts) {
        EXPECT_EQ(verdict.outcome, Outcome::release);
        EXPECT_FALSE(verdict.destination_down);
    }
}

TEST(HttpSink, DestinationHoldsNoSecret) {
    EXPECT_EQ(sink_to("https://Example.com/services/hunter2?x=y")->destination(),
              "https://Example.com:443");
}

}  // namespace
}  // namespace postroom::test
