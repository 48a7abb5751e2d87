#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>

#include "base/random.hpp"
#include "dispatch/dispatch_core.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"
#include "postroom/tracing.hpp"

namespace postroom::tracing_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string span_id = "00f067aa0ba902b7";
const std::string given = "00-" + trace_id + "-" + span_id + "-01";

std::optional<TraceContext> parsed(const std::string& traceparent) {
    return TraceContext::of({{"traceparent", traceparent}});
}

TEST(TraceContext, IsReadAndWrittenAsW3cSays) {
    const std::optional<TraceContext> context =
        TraceContext::of({{"traceparent", given}, {"tracestate", "a=1,b=2"}});
    ASSERT_TRUE(context);
    EXPECT_EQ(context->trace_id, trace_id);
    EXPECT_EQ(context->span_id, span_id);
    EXPECT_TRUE(context->sampled);
    EXPECT_EQ(context->state, "a=1,b=2");
    EXPECT_EQ(context->traceparent(), given);
}

TEST(TraceContext, OnlyTheLastBitOfTheFlagsSamples) {
    const std::string front = given.substr(0, 53);
    EXPECT_FALSE(parsed(front + "00")->sampled);
    EXPECT_FALSE(parsed(front + "02")->sampled);
    EXPECT_TRUE(parsed(front + "03")->sampled);
    EXPECT_EQ(parsed(front + "00")->traceparent(), front + "00");
}

TEST(TraceContext, ALaterVersionMayBeLonger) {
    EXPECT_TRUE(parsed("01" + given.substr(2)));
    EXPECT_TRUE(parsed("cc" + given.substr(2) + "-what.the.future.brings"));
    EXPECT_FALSE(parsed("cc" + given.substr(2) + "what"));
    EXPECT_FALSE(parsed(given + "-more"));
}

TEST(TraceContext, WhatIsMalformedIsNone) {
    EXPECT_FALSE(TraceContext::of({}));
    for (const std::string& text :
         {std::string("00-1"), std::string(), given.substr(0, 54), "ff" + given.substr(2),
          "0x" + given.substr(2), "00-" + std::string(32, '0') + "-" + span_id + "-01",
          "00-" + trace_id + "-" + std::string(16, '0') + "-01",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span_id + "-01",
          "00-" + trace_id + "-" + span_id + "-0g", "00-" + trace_id + "_" + span_id + "-01",
          "00-" + trace_id + "-" + span_id + "_01"})
        EXPECT_FALSE(parsed(text)) << text;
}

TEST(TraceContext, AnOverlongStateIsLeftOut) {
    const auto with_state = [](std::size_t size) {
        return TraceContext::of({{"traceparent", given}, {"tracestate", std::string(size, 'x')}});
    };
    EXPECT_THAT(with_state(512)->state, SizeIs(512));
    EXPECT_THAT(with_state(513)->state, IsEmpty());
}

TEST(Sampler, AParentDecidesUnlessToldOtherwise) {
    const TraceContext sampled{.trace_id = trace_id, .span_id = span_id, .sampled = true};
    TraceContext dropped = sampled;
    dropped.sampled = false;
    EXPECT_TRUE((Sampler{.ratio = 0}).samples(&sampled, trace_id));
    EXPECT_FALSE((Sampler{.ratio = 1}).samples(&dropped, trace_id));
    EXPECT_FALSE((Sampler{.ratio = 0, .parent_based = false}).samples(&sampled, trace_id));
    EXPECT_TRUE((Sampler{.ratio = 1, .parent_based = false}).samples(&dropped, trace_id));
}

TEST(Sampler, ARatioChoosesByTheEndOfTheId) {
    const std::string front(16, 'f');
    const Sampler half{.ratio = 0.5};
    EXPECT_TRUE(half.samples(nullptr, front + "7fffffffffffffff"));
    EXPECT_FALSE(half.samples(nullptr, front + "8000000000000000"));
    EXPECT_FALSE((Sampler{.ratio = 0}).samples(nullptr, front + "0000000000000000"));
    EXPECT_TRUE((Sampler{.ratio = 1}).samples(nullptr, std::string(32, 'f')));
    // A delivery goes by the trace of its message.
    const Sampler own{.ratio = 0.5, .parent_based = false};
    const TraceContext carried{.trace_id = front + "8000000000000000", .span_id = span_id};
    EXPECT_FALSE(own.samples(&carried, front + "0000000000000001"));
}

class KeptSpans final : public SpanExporter {
public:
    void take(Span span) noexcept override {
        const std::lock_guard lock(mutex_);
        spans_.push_back(std::move(span));
    }
    std::vector<Span> take_all() {
        const std::lock_guard lock(mutex_);
        return std::exchange(spans_, {});
    }
    Span only() {
        const std::vector<Span> spans = take_all();
        EXPECT_THAT(spans, SizeIs(1));
        return spans.empty() ? Span{} : spans.front();
    }

private:
    std::mutex mutex_;
    std::vector<Span> spans_;
};

std::string text_of(const Span& span, std::string_view key) {
    for (const SpanAttribute& attribute : span.attributes)
        if (attribute.key == key) {
            const auto* const text = std::get_if<std::string>(&attribute.value);
            return text != nullptr ? *text : std::to_string(std::get<1>(attribute.value));
        }
    return "(none)";
}

struct TracingTest : testing::Test {
    EnqueueResult enqueue(const Headers& headers = {}) {
        return outbox.enqueue({.topic = "order.placed",
                               .payload = "the payload",
                               .headers = headers,
                               .correlation_id = "c1"});
    }
    Headers stored_headers() { return store.enqueued("order.placed").at(0).headers; }
    void deliver(const std::function<void(const Message&)>& handler) {
        Routes routes;
        routes.on("order.placed", handler);
        drain(store, routes, {.retry = {.max_attempts = 2}, .observer = &tracing});
    }

    ManualClock clock;
    MemoryStore store{clock};
    KeptSpans spans;
    base::SeededRandom random{7};
    TracingObserver tracing{spans, {.clock = &clock, .random = &random}};
    Outbox outbox{store, {.queue = {.observer = &tracing}, .tracing = &tracing}};
};

TEST_F(TracingTest, AnEnqueueIsASpanWhoseContextTheMessageCarries) {
    const EnqueueResult stored = enqueue({{"colour", "red"}});
    const Span span = spans.only();
    EXPECT_EQ(span.name, "send order.placed");
    EXPECT_EQ(span.kind, SpanKind::producer);
    EXPECT_THAT(span.parent_span_id, IsEmpty());
    EXPECT_FALSE(span.link);
    EXPECT_FALSE(span.failed);
    EXPECT_EQ(stored_headers(),
              (Headers{{"colour", "red"}, {"traceparent", span.context.traceparent()}}));
    EXPECT_EQ(text_of(span, "messaging.system"), "postroom");
    EXPECT_EQ(text_of(span, "messaging.operation.name"), "send");
    EXPECT_EQ(text_of(span, "messaging.operation.type"), "send");
    EXPECT_EQ(text_of(span, "messaging.destination.name"), "order.placed");
    EXPECT_EQ(text_of(span, "messaging.message.id"), stored.message_id.str());
    EXPECT_EQ(text_of(span, "messaging.message.conversation_id"), "c1");
    EXPECT_EQ(text_of(span, "postroom.store"), store.id());
    EXPECT_EQ(text_of(span, "postroom.queue"), "outbox");
}

TEST_F(TracingTest, AContextThatTheCallerGaveStaysAndIsTheParent) {
    enqueue({{"traceparent", given}, {"tracestate", "a=1"}});
    const Span span = spans.only();
    EXPECT_EQ(span.context.trace_id, trace_id);
    EXPECT_NE(span.context.span_id, span_id);
    EXPECT_EQ(span.context.state, "a=1");
    EXPECT_EQ(span.parent_span_id, span_id);
    EXPECT_EQ(stored_headers().at("traceparent"), given);
}

TEST_F(TracingTest, AMessageWhoseHeadersAreFullGoesWithout) {
    const std::size_t limit = store.limits().headers_bytes;
    enqueue({{"x", std::string(limit - 1, 'x')}});
    EXPECT_FALSE(stored_headers().contains("traceparent"));
    EXPECT_THAT(spans.take_all(), SizeIs(1));
    outbox.enqueue(
        {.topic = "fits", .payload = "{}", .headers = {{"x", std::string(limit - 1 - 66, 'x')}}});
    EXPECT_TRUE(store.enqueued("fits").at(0).headers.contains("traceparent"));
}

TEST_F(TracingTest, AMalformedContextStaysAndIsNobodysParent) {
    enqueue({{"traceparent", "00-1"}});
    EXPECT_THAT(spans.only().parent_span_id, IsEmpty());
    EXPECT_EQ(stored_headers().at("traceparent"), "00-1");
}

TEST_F(TracingTest, ADeliveryIsASpanLinkedToTheEnqueue) {
    enqueue();
    const Span sent = spans.only();
    deliver([](const Message&) {});
    const Span span = spans.only();
    EXPECT_EQ(span.name, "process order.placed");
    EXPECT_EQ(span.kind, SpanKind::consumer);
    ASSERT_TRUE(span.link);
    EXPECT_EQ(span.link->trace_id, sent.context.trace_id);
    EXPECT_EQ(span.link->span_id, sent.context.span_id);
    EXPECT_NE(span.context.trace_id, sent.context.trace_id);
    EXPECT_FALSE(span.failed);
    EXPECT_EQ(text_of(span, "messaging.operation.type"), "process");
    EXPECT_EQ(text_of(span, "postroom.outcome"), "delivered");
    EXPECT_EQ(text_of(span, "error.type"), "(none)");
}

TEST_F(TracingTest, FailuresHaveATypeAndAText) {
    enqueue();
    static_cast<void>(spans.only());
    const auto failing = [](const Message&) { throw std::runtime_error("no such order"); };
    deliver(failing);
    const Span retried = spans.only();
    EXPECT_TRUE(retried.failed);
    EXPECT_EQ(retried.error, "no such order");
    EXPECT_EQ(text_of(retried, "error.type"), "delivery_failed");
    EXPECT_EQ(text_of(retried, "postroom.outcome"), "retried");
    EXPECT_EQ(text_of(retried, "postroom.retry_count"), "1");
    clock.advance(1h);
    deliver(failing);
    const Span dead = spans.only();
    EXPECT_TRUE(dead.failed);
    EXPECT_EQ(text_of(dead, "error.type"), "max_attempts");
    EXPECT_EQ(text_of(dead, "postroom.outcome"), "dead");
    EXPECT_TRUE(dead.link);
}

TEST_F(TracingTest, TheTimesOfADeliveryAreThoseOfItsHandler) {
    Message message;
    message.topic = "order.placed";
    tracing.observe(
        {.kind = EventKind::delivered, .message = &message, .duration = 40ms, .since = 7ms});
    const Span span = spans.only();
    EXPECT_EQ(span.end, clock.now() - 7ms);
    EXPECT_EQ(span.start, clock.now() - 47ms);
}

TEST_F(TracingTest, WaitingToBeSettledIsNoPartOfADelivery) {
    enqueue();
    static_cast<void>(spans.only());
    const auto core = std::make_shared<DispatchCore>(store, DispatcherOptions{.observer = &tracing},
                                                     clock, random);
    core->routes().on("order.placed", [this](const Message&) { clock.advance(40ms); });
    core->claim_step(clock.now());
    const Instant begun = clock.now();
    core->run(core->take(begun).value());
    clock.advance(7ms);
    core->settle_step(clock.now(), /*all=*/true);
    core->disconnect();
    const Span span = spans.only();
    EXPECT_EQ(span.start, begun);
    EXPECT_EQ(span.end, begun + 40ms);
}

TEST_F(TracingTest, OnlyTriedMessagesThatAreReleasedAreSpans) {
    Message message;
    message.topic = "order.placed";
    Event event{.kind = EventKind::released, .message = &message, .error = "refused"};
    tracing.observe(event);
    EXPECT_THAT(spans.take_all(), IsEmpty());
    event.duration = 1ms;
    tracing.observe(event);
    EXPECT_EQ(text_of(spans.only(), "error.type"), "destination_down");
}

TEST_F(TracingTest, NoSpanShowsAPayloadOrAnotherHeader) {
    enqueue({{"authorization", "s3cret"}});
    deliver([](const Message&) {});
    for (const Span& span : spans.take_all())
        for (const SpanAttribute& attribute : span.attributes)
            EXPECT_THAT(text_of(span, attribute.key),
                        AllOf(Not(HasSubstr("the payload")), Not(HasSubstr("s3cret"))));
}

TEST_F(TracingTest, WhatIsNotSampledIsNeitherSentNorProcessed) {
    enqueue({{"traceparent", given.substr(0, 53) + "00"}});
    deliver([](const Message&) {});
    EXPECT_THAT(spans.take_all(), IsEmpty());
}

TEST_F(TracingTest, ATraceThatIsNotSampledIsToldToItsConsumers) {
    const TracingObserver off(spans, {.sampler = {.ratio = 0}});
    Headers headers;
    EXPECT_TRUE(off.stamp(headers));
    EXPECT_THAT(headers.at("traceparent"), testing::EndsWith("-00"));
}

TEST_F(TracingTest, AnInboxLinksToTheSender) {
    const Inbox inbox(store, {.queue = {.observer = &tracing}});
    inbox.enqueue({.topic = "order.placed",
                   .source = "shop",
                   .message_id = "m1",
                   .payload = "{}",
                   .headers = {{"traceparent", given}}});
    EXPECT_THAT(spans.take_all(), IsEmpty()) << "somebody else has sent it";
    Routes routes;
    routes.on("order.placed", [](const Message&) {});
    drain(store, routes, {.queue = Queue::inbox, .observer = &tracing});
    const Span span = spans.only();
    ASSERT_TRUE(span.link);
    EXPECT_EQ(span.link->span_id, span_id);
    EXPECT_EQ(text_of(span, "postroom.queue"), "inbox");
}

TEST_F(TracingTest, APostedMessageIsASpanWhenItIsCommitted) {
    const std::unique_ptr<Transaction> tx = store.begin();
    outbox.post(*tx, {.topic = "order.placed", .payload = "{}"});
    tx->commit();
    EXPECT_EQ(stored_headers().at("traceparent"), spans.only().context.traceparent());
}

TEST_F(TracingTest, AWorkerWithoutADispatcherMakesSpansToo) {
    enqueue();
    const Span sent = spans.only();
    for (const Message& message : outbox.claim_due(1)) outbox.ack(message);
    const Span span = spans.only();
    ASSERT_TRUE(span.link);
    EXPECT_EQ(span.link->span_id, sent.context.span_id);
}

TEST_F(TracingTest, WithoutTracingMessagesStayAsTheyAre) {
    const Outbox plain(store, {.queue = {.observer = &tracing}});
    plain.enqueue({.topic = "order.placed", .payload = "{}"});
    EXPECT_THAT(stored_headers(), IsEmpty());
    EXPECT_EQ(spans.only().name, "send order.placed");
}

}  // namespace
}  // namespace postroom::tracing_test
