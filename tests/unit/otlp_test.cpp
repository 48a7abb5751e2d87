#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "otlp/collector.hpp"
#include "otlp/otlp_json.hpp"
#include "otlp/span_queue.hpp"
#include "postroom/otlp.hpp"
#include "support/wait_until.hpp"

namespace postroom::otlp_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::chrono::seconds patience = 60s;

const TraceContext context{
    .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736", .span_id = "00f067aa0ba902b7", .sampled = true};

TEST(OtlpJson, WritesWhatTheProtocolNames) {
    Span span{.context = context,
              .parent_span_id = "1111111111111111",
              .kind = SpanKind::consumer,
              .name = "process \"a\"",
              .start = Instant{1s},
              .end = Instant{1s + 5us},
              .attributes = {{"messaging.system", "postroom"}, {"n", std::int64_t{-3}}},
              .failed = true,
              .error = "no"};
    span.link = context;
    span.link->state = "a=1";
    EXPECT_EQ(
        otlp::spans_json({{"service.name", "shop"}}, {&span, 1}),
        R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},)"
        R"("scopeSpans":[{"scope":{"name":"postroom","version":"0.1.0"},"spans":[{)"
        R"("traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","flags":1,)"
        R"("parentSpanId":"1111111111111111","name":"process \"a\"","kind":5,)"
        R"("startTimeUnixNano":"1000000000","endTimeUnixNano":"1000005000",)"
        R"("attributes":[{"key":"messaging.system","value":{"stringValue":"postroom"}},)"
        R"({"key":"n","value":{"intValue":"-3"}}],)"
        R"("links":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7",)"
        R"("traceState":"a=1","flags":769}],"status":{"code":2,"message":"no"}}]}]}]})");
}

TEST(OtlpJson, ASpanThatWentWellHasNoStatus) {
    const Span span{.context = context, .name = "send a"};
    EXPECT_THAT(otlp::spans_json({}, {&span, 1}),
                AllOf(Not(HasSubstr("status")), Not(HasSubstr("links")),
                      Not(HasSubstr("parentSpanId")), Not(HasSubstr("traceState"))));
}

Span named(const std::string& name) { return {.context = context, .name = name}; }

TEST(SpanQueue, DropsAndCountsWhatFindsNoRoom) {
    otlp::SpanQueue queue({.size = 2, .batch = 10, .batch_delay = 1h});
    for (const char* const name : {"a", "b", "c"}) queue.push(named(name));
    EXPECT_EQ(queue.dropped(), 1u);
    std::stop_source stop;
    stop.request_stop();
    const std::vector<Span> batch = queue.next(stop.get_token());
    ASSERT_THAT(batch, SizeIs(2));
    EXPECT_EQ(batch[1].name, "b");
    EXPECT_THAT(queue.next(stop.get_token()), IsEmpty());
}

TEST(SpanQueue, AFullBatchDoesNotWait) {
    otlp::SpanQueue queue({.size = 10, .batch = 2, .batch_delay = 1h});
    for (const char* const name : {"a", "b", "c"}) queue.push(named(name));
    EXPECT_THAT(queue.next({}), SizeIs(2));
}

TEST(SpanQueue, ASpanAloneWaitsOnlySoLong) {
    otlp::SpanQueue queue({.size = 10, .batch = 2, .batch_delay = 1ms});
    queue.push(named("a"));
    EXPECT_THAT(queue.next({}), SizeIs(1));
}

TEST(SpanQueue, TheLastOfABatchWakesWhoWaits) {
    otlp::SpanQueue queue({.size = 10, .batch = 2, .batch_delay = 1h});
    std::vector<Span> batch;
    {
        const std::jthread reader([&] { batch = queue.next({}); });
        queue.push(named("a"));
        queue.push(named("b"));
    }
    EXPECT_THAT(batch, SizeIs(2));
}

TEST(SpanQueue, WhatComesAfterTheEndIsDropped) {
    otlp::SpanQueue queue({});
    queue.close();
    queue.push(named("a"));
    EXPECT_EQ(queue.dropped(), 1u);
}

using Variables = std::map<std::string, std::string>;

std::optional<OtlpSettings> settings_of(const Variables& variables) {
    return otlp_settings([&variables](const char* name) -> const char* {
        const auto at = variables.find(name);
        return at == variables.end() ? nullptr : at->second.c_str();
    });
}

std::string refusal_of(Variables variables) {
    variables.try_emplace("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    try {
        settings_of(variables);
        return "(accepted)";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

const std::string endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

TEST(OtlpEnvironment, IsOffUnlessAskedFor) {
    EXPECT_FALSE(settings_of({}));
    EXPECT_FALSE(settings_of({{endpoint, ""}}));
    EXPECT_FALSE(settings_of({{"OTEL_SERVICE_NAME", "shop"}}));
    const std::string url = "http://c:4318";
    EXPECT_FALSE(settings_of({{endpoint, url}, {"OTEL_SDK_DISABLED", "True"}}));
    EXPECT_FALSE(settings_of({{endpoint, url}, {"OTEL_TRACES_EXPORTER", "none"}}));
    EXPECT_TRUE(settings_of({{endpoint, url}, {"OTEL_SDK_DISABLED", "false"}}));
    EXPECT_TRUE(settings_of({{endpoint, url}, {"OTEL_TRACES_EXPORTER", "otlp"}}));
}

TEST(OtlpEnvironment, AnEndpointGetsThePathOfTraces) {
    EXPECT_EQ(settings_of({{endpoint, "http://c:4318"}})->options.url, "http://c:4318/v1/traces");
    EXPECT_EQ(settings_of({{endpoint, "https://c/otlp/"}})->options.url,
              "https://c/otlp/v1/traces");
    EXPECT_EQ(settings_of({{endpoint, "http://c:4318"},
                           {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://d:1/as/it/is"}})
                  ->options.url,
              "https://d:1/as/it/is");
}

TEST(OtlpEnvironment, ReadsWhoAndHow) {
    const OtlpSettings settings =
        *settings_of({{endpoint, "http://c:4318"},
                      {"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret, x-a = 1"},
                      {"OTEL_RESOURCE_ATTRIBUTES", "service.name=other,host.name=h%2C1"},
                      {"OTEL_SERVICE_NAME", "shop"},
                      {"OTEL_EXPORTER_OTLP_TIMEOUT", "1500"},
                      {"OTEL_BSP_SCHEDULE_DELAY", "20"},
                      {"OTEL_BSP_MAX_QUEUE_SIZE", "30"},
                      {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10"},
                      {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"}});
    const OtlpOptions& options = settings.options;
    EXPECT_EQ(options.headers, (Headers{{"authorization", "Bearer s3cret"}, {"x-a", "1"}}));
    EXPECT_EQ(options.resource, (Headers{{"service.name", "shop"}, {"host.name", "h,1"}}));
    EXPECT_EQ(options.timeout, 1500ms);
    EXPECT_EQ(options.batch_delay, 20ms);
    EXPECT_EQ(options.queue_max, 30u);
    EXPECT_EQ(options.batch_max, 10u);
    EXPECT_EQ(options.ca_file, "/ca.pem");
    EXPECT_EQ(settings.sampler.ratio, 1);
    EXPECT_TRUE(settings.sampler.parent_based);
}

TEST(OtlpEnvironment, ReadsTheSampler) {
    const auto sampler = [](const std::string& name, const std::string& ratio = "") {
        return settings_of({{endpoint, "http://c"},
                            {"OTEL_TRACES_SAMPLER", name},
                            {"OTEL_TRACES_SAMPLER_ARG", ratio}})
            ->sampler;
    };
    EXPECT_EQ(sampler("parentbased_traceidratio", "0.25").ratio, 0.25);
    EXPECT_TRUE(sampler("parentbased_traceidratio", "0.25").parent_based);
    EXPECT_EQ(sampler("traceidratio").ratio, 1);
    EXPECT_FALSE(sampler("traceidratio", "0.5").parent_based);
    EXPECT_EQ(sampler("always_off").ratio, 0);
    EXPECT_EQ(sampler("parentbased_always_off", "0.7").ratio, 0);
    EXPECT_FALSE(sampler("always_on").parent_based);
}

TEST(OtlpEnvironment, RefusalsNameTheVariableAndNoSecret) {
    for (const char* const url : {"collector:4318", "ftp://c/", "http://", "http://a b/"})
        EXPECT_THAT(refusal_of({{endpoint, url}}),
                    HasSubstr(endpoint + ": not the URL of a collector"))
            << url;
    EXPECT_THAT(refusal_of({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "nonsense"}}),
                testing::StartsWith("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "));
    EXPECT_THAT(refusal_of({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}),
                testing::StartsWith("OTEL_EXPORTER_OTLP_PROTOCOL: "));
    EXPECT_THAT(refusal_of({{"OTEL_TRACES_EXPORTER", "zipkin"}}),
                testing::StartsWith("OTEL_TRACES_EXPORTER: "));
    EXPECT_THAT(refusal_of({{"OTEL_TRACES_SAMPLER", "jaeger_remote"}}),
                testing::StartsWith("OTEL_TRACES_SAMPLER: "));
    for (const char* const ratio : {"1.5", "-0.1", "half", "nan", "0.5x"})
        EXPECT_THAT(refusal_of({{"OTEL_TRACES_SAMPLER", "traceidratio"},
                                {"OTEL_TRACES_SAMPLER_ARG", ratio}}),
                    testing::StartsWith("OTEL_TRACES_SAMPLER_ARG: "));
    for (const char* const headers :
         {"s3cret", "=s3cret", "a=s3cret%zz", "a=s3cret%0D%0Ab: c", "a b=s3cret", "a=%"})
        EXPECT_THAT(
            refusal_of({{"OTEL_EXPORTER_OTLP_HEADERS", headers}}),
            AllOf(testing::StartsWith("OTEL_EXPORTER_OTLP_HEADERS: "), Not(HasSubstr("s3cret"))));
    for (const char* const number : {"0", "-1", "1s", "99999999999999999999"})
        EXPECT_THAT(refusal_of({{"OTEL_BSP_MAX_QUEUE_SIZE", number}}),
                    testing::StartsWith("OTEL_BSP_MAX_QUEUE_SIZE: "));
}

TEST(OtlpExporter, RefusesWhatCannotWork) {
    EXPECT_THROW(OtlpExporter({.url = "nonsense"}), std::invalid_argument);
    EXPECT_THROW(OtlpExporter({.url = "http://c", .headers = {{"a", "b\r\nc"}}}),
                 std::invalid_argument);
    EXPECT_THROW(OtlpExporter({.url = "http://c", .batch_max = 0}), std::invalid_argument);
}

TEST(OtlpCollector, OnlyTheOriginOfItsUrlIsShown) {
    EXPECT_EQ(otlp::origin_of("https://user:s3cret@c:4318/v1/traces?token=s3cret"),
              "https://c:4318");
}

// A port on this machine whose owner never answers: connections wait to be accepted for ever, or
// are refused where it does not listen.
class Silent {
public:
    explicit Silent(bool listens = true)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket_, any, size) != 0 || (listens && ::listen(socket_, 8) != 0) ||
            ::getsockname(socket_, any, &size) != 0)
            throw std::runtime_error("no port to listen on");
        url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1/traces";
    }
    ~Silent() { ::close(socket_); }
    Silent(const Silent&) = delete;
    Silent& operator=(const Silent&) = delete;

    // When somebody has connected and is left waiting.
    void wait_for_a_request() const {
        const int accepted = ::accept(socket_, nullptr, nullptr);
        char byte = 0;
        ::recv(accepted, &byte, 1, 0);
        // Open for the rest of the process: a closed one would be an answer.
    }

    std::string url;

private:
    const int socket_;
};

// Lines that were logged.
struct Lines {
    std::function<void(LogLevel, std::string_view)> log() {
        return [this](LogLevel, std::string_view text) {
            const std::lock_guard lock(mutex);
            lines.emplace_back(text);
        };
    }
    std::vector<std::string> all() {
        const std::lock_guard lock(mutex);
        return lines;
    }
    std::mutex mutex;
    std::vector<std::string> lines;
};

TEST(OtlpExporter, NobodyWaitsForACollectorThatHangs) {
    const Silent collector;
    Lines lines;
    OtlpExporter exporter({.url = collector.url,
                           .timeout = 24h,
                           .batch_delay = 1ms,
                           .batch_max = 10,
                           .queue_max = 10,
                           .close_timeout = 10ms,
                           .log = lines.log()});
    exporter.take(named("first"));
    collector.wait_for_a_request();
    // The request is under way, and nothing will end it but the close.
    for (int i = 0; i < 100; ++i) exporter.take(named("more"));
    EXPECT_EQ(exporter.figures().dropped, 90u);
    exporter.close();
    EXPECT_EQ(exporter.figures().dropped, 101u);
    EXPECT_EQ(exporter.figures().sent, 0u);
    exporter.take(named("late"));
    EXPECT_EQ(exporter.figures().dropped, 102u);
    EXPECT_THAT(lines.all(), testing::Contains(HasSubstr("dropped=101")));
}

TEST(OtlpExporter, ACollectorThatIsDownIsToldOnceAndTriedAgain) {
    const Silent collector(/*listens=*/false);  // keeps its port, which nobody else gets meanwhile
    Lines lines;
    OtlpExporter exporter({.url = collector.url,
                           .batch_delay = 1ms,
                           .attempts_max = 3,
                           .retry_pause = 1ms,
                           .log = lines.log()});
    exporter.take(named("a"));
    EXPECT_TRUE(test::wait_until([&] { return exporter.figures().dropped == 1; }, patience));
    exporter.take(named("b"));
    EXPECT_TRUE(test::wait_until([&] { return exporter.figures().dropped == 2; }, patience));
    const std::vector<std::string> said = lines.all();
    ASSERT_THAT(said, SizeIs(1));
    EXPECT_THAT(said[0],
                AllOf(testing::StartsWith("TRACES_EXPORT_FAIL collector=http://127.0.0.1:"),
                      HasSubstr("error=")));
}

}  // namespace
}  // namespace postroom::otlp_test
