// Spans of the program, as a collector sees them: one that checks each request with OpenTelemetry's
// own definition of OTLP (tests/program/tracing), one that hangs, one that is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <csignal>

#include "program/program.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::tracing_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds patience = 90s;
const std::string given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class Collector {
public:
    explicit Collector(const std::vector<std::string>& options = {})
        : process_({.program = "/usr/bin/node", .arguments = arguments(options)}),
          port_(next_line()) {}

    std::string url() const { return "http://127.0.0.1:" + port_; }
    // What was in the next request.
    std::string next_line() {
        const std::optional<std::string> line = process_.read_line(patience);
        if (!line) throw std::runtime_error("the collector says nothing; is node installed?");
        return *line;
    }

private:
    static std::vector<std::string> arguments(std::vector<std::string> options) {
        options.insert(options.begin(), POSTROOM_TRACING_PACKAGES "/collector.mjs");
        return options;
    }

    ChildProcess process_;
    const std::string port_;
};

struct Tracing : testing::Test {
    void trace_to(const std::string& url) {
        folder.set("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        folder.set("OTEL_BSP_SCHEDULE_DELAY", "10");
    }
    bool wait_for_log(const std::string& part) const {
        return wait_until([&] { return count_of(folder.read("err"), part) > 0; }, patience);
    }
    void enqueue(int count) const {
        std::string lines;
        for (int i = 0; i < count; ++i)
            lines +=
                fmt::format("{}{{\"topic\":\"order.placed\",\"payload\":{}}}", i ? "\n" : "", i);
        folder.good({"enqueue", "--jsonl"}, lines);
    }
    void expect_delivered(ChildProcess& relay, int count) const {
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(relay.read_line(patience)) << i << folder.read("err");
    }
    static void expect_clean_stop(ChildProcess& relay) {
        relay.kill(SIGTERM);
        const std::optional<ExitStatus> status = relay.wait(patience);
        ASSERT_TRUE(status);
        EXPECT_TRUE(status->success());
    }

    ProgramFolder folder;
};

struct TracingNode : Tracing {};

TEST_F(TracingNode, AnEnqueueAndItsDeliveryAreLinkedSpans) {
    Collector collector;
    trace_to(collector.url() + "/otlp");
    folder.set("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret");
    folder.set("OTEL_SERVICE_NAME", "shop");
    folder.set("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test");
    const std::string stored =
        folder.good({"enqueue", "order.placed", "--json", "--payload", "{\"what\":\"the payload\"}",
                     "--correlation-id", "c1"});
    const std::string sent = collector.next_line();
    const std::string message_id = text_member(stored, "message_id");
    EXPECT_THAT(
        sent,
        AllOf(HasSubstr(R"("path":"/otlp/v1/traces","authorization":"Bearer s3cret")"),
              HasSubstr(R"("deployment.environment.name":"test","service.name":"shop")"),
              HasSubstr(R"("name":"send order.placed","kind":"SPAN_KIND_PRODUCER")"),
              HasSubstr(R"("parent":"","links":[],"status":{})"),
              HasSubstr(R"("messaging.system":"postroom","messaging.operation.name":"send",)"
                        R"("messaging.operation.type":"send",)"
                        R"("messaging.destination.name":"order.placed","messaging.message.id":")" +
                        message_id + R"(","messaging.message.conversation_id":"c1")")));
    const std::string context = text_member(sent, "context");

    EXPECT_THAT(folder.good({"relay", "--once"}),
                HasSubstr("\"traceparent\":\"00-" + context + "-01\""));
    const std::string processed = collector.next_line();
    EXPECT_THAT(processed,
                AllOf(HasSubstr(R"("name":"process order.placed","kind":"SPAN_KIND_CONSUMER")"),
                      HasSubstr(R"("parent":"","links":[")" + context + R"("],"status":{})"),
                      HasSubstr(R"("messaging.message.id":")" + message_id),
                      HasSubstr(R"("postroom.outcome":"delivered","postroom.retry_count":0)")));
    EXPECT_NE(text_member(processed, "context").substr(0, 32), context.substr(0, 32));
    EXPECT_THAT(sent + processed, Not(HasSubstr("the payload")));
}

TEST_F(TracingNode, ATraceThatTheWriterBeganGoesOn) {
    Collector collector;
    trace_to(collector.url());
    folder.good({"enqueue", "order.placed", "--payload", "1", "--header", "traceparent=" + given});
    EXPECT_THAT(collector.next_line(), AllOf(HasSubstr(R"("context":"4bf92f3577b34da6a3ce929d)"),
                                             HasSubstr(R"("parent":"00f067aa0ba902b7")")));
    EXPECT_THAT(folder.good({"relay", "--once"}), HasSubstr(given));
    EXPECT_THAT(collector.next_line(),
                HasSubstr(R"("links":["4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"])"));
}

TEST_F(TracingNode, AFailureHasAStatusAndAType) {
    Collector collector;
    trace_to(collector.url());
    folder.set("POSTROOM_RELAY__UNROUTABLE", "dead");
    folder.write("postroom.toml",
                 "[[routes]]\ntopic = \"good.*\"\nsink = \"out\"\n"
                 "[sinks.out]\ntype = \"stdout\"\n");
    folder.good({"enqueue", "nobody", "--payload", "1"});
    static_cast<void>(collector.next_line());
    static_cast<void>(folder.run({"relay", "--once"}));
    EXPECT_THAT(
        collector.next_line(),
        AllOf(HasSubstr(R"("name":"process nobody")"),
              HasSubstr(R"("status":{"code":2,"message":"no handler for topic)"),
              HasSubstr(R"("postroom.outcome":"dead")"), HasSubstr(R"("error.type":"failed")")));
}

TEST_F(TracingNode, ManyMessagesOfARunningRelayAreSentInBatches) {
    Collector collector;
    trace_to(collector.url());
    folder.set("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "20");
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(wait_for_log("RELAY_READY"));
    enqueue(100);
    expect_delivered(relay, 100);
    expect_clean_stop(relay);
    std::size_t sent = 0;
    std::size_t processed = 0;
    while (sent + processed < 200) {
        const std::string line = collector.next_line();
        ASSERT_THAT(line, Not(HasSubstr("refused")));
        const std::size_t here = count_of(line, "\"name\":");
        EXPECT_LE(here, 20u);
        sent += count_of(line, "\"name\":\"send order.placed\"");
        processed += count_of(line, "\"name\":\"process order.placed\"");
    }
    EXPECT_EQ(sent, 100u);
    EXPECT_EQ(processed, 100u);
    EXPECT_THAT(folder.read("err"), Not(HasSubstr("TRACES_")));
}

// The collector never answers, and its request may take an hour: whatever waited for it would wait
// longer than this test.
TEST_F(TracingNode, NoDeliveryWaitsForACollectorThatHangs) {
    Collector collector({"--hang"});
    enqueue(1);
    trace_to(collector.url());
    folder.set("OTEL_EXPORTER_OTLP_TIMEOUT", "3600000");
    folder.set("OTEL_BSP_MAX_QUEUE_SIZE", "10");
    ChildProcess relay = folder.start({"relay"});
    expect_delivered(relay, 1);
    EXPECT_THAT(collector.next_line(), HasSubstr("hangs"));
    folder.set("OTEL_SDK_DISABLED", "true");
    enqueue(300);
    expect_delivered(relay, 300);
    expect_clean_stop(relay);
    EXPECT_THAT(folder.read("err"),
                AllOf(HasSubstr("\"event\":\"TRACES_EXPORT_FAIL\""), HasSubstr("\"dropped\":")));
}

TEST_F(Tracing, ACollectorThatIsDownIsToldAndDisturbsNothing) {
    trace_to("http://user:s3cret@127.0.0.1:1");
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(wait_for_log("RELAY_READY"));
    const Ran enqueued = folder.run({"enqueue", "order.placed", "--payload", "1"});
    EXPECT_EQ(enqueued.code, 0);
    EXPECT_THAT(enqueued.err, HasSubstr("TRACES_EXPORT_FAIL collector=http://127.0.0.1:1"));
    expect_delivered(relay, 1);
    EXPECT_TRUE(
        wait_for_log("\"event\":\"TRACES_EXPORT_FAIL\",\"collector\":\"http://127.0.0.1:1\""));
    expect_clean_stop(relay);
    EXPECT_THAT(folder.read("err"), Not(HasSubstr("s3cret")));
}

TEST_F(Tracing, WrongVariablesAreAWarningAndMessagesAreDelivered) {
    trace_to("collector:4318");
    const Ran enqueued = folder.run({"enqueue", "order.placed", "--payload", "1"});
    EXPECT_EQ(enqueued.code, 0);
    EXPECT_THAT(enqueued.err,
                HasSubstr("warning: no spans are sent: OTEL_EXPORTER_OTLP_ENDPOINT: not the URL"));
    const Ran relayed = folder.run({"relay", "--once"});
    EXPECT_EQ(relayed.code, 0);
    EXPECT_THAT(relayed.out, AllOf(HasSubstr("order.placed"), Not(HasSubstr("traceparent"))));
    EXPECT_THAT(relayed.err, AllOf(HasSubstr("\"event\":\"CONFIG_WARNING\""),
                                   HasSubstr("no spans are sent: OTEL_EXPORTER_OTLP_ENDPOINT")));
}

TEST_F(Tracing, WithoutAnEndpointMessagesStayAsTheyAre) {
    folder.set("OTEL_SERVICE_NAME", "shop");
    folder.good({"enqueue", "order.placed", "--payload", "1"});
    EXPECT_THAT(folder.good({"relay", "--once"}), Not(HasSubstr("traceparent")));
}

}  // namespace
}  // namespace postroom::test::tracing_test
