// Tracing: what happens to messages as spans, in the words of OpenTelemetry.
//
//   OtlpExporter exporter(settings);       // otlp.hpp; or a SpanExporter of your own
//   TracingObserver tracing(exporter);
//   Outbox outbox(*store, {.queue = {.observer = &tracing}, .tracing = &tracing});
//   Dispatcher dispatcher(*store, {.observer = &tracing});
//
// A message that is enqueued is a span `send {topic}`, part of the trace that its header
// `traceparent` names. Each delivery is a span `process {topic}` in a trace of its own, linked to
// the context that the message carries: days may lie between the two, and many attempts. Headers
// that a caller gave are never changed; a message without `traceparent` gets the context of its
// `send` span, so that deliveries can be linked to it. Spans never carry a payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postroom/observer.hpp"

namespace postroom {

// TraceContext: which span of which trace, as W3C Trace Context carries it from one to the other.
struct TraceContext {
    std::string trace_id{};  // 32 hexadecimal digits in lower case, not all zero
    std::string span_id{};   // 16 of them
    bool sampled = false;
    std::string state{};  // `tracestate`, which only its writers understand

    // What a message carries. nullopt: no `traceparent`, or none that the recommendation accepts.
    static std::optional<TraceContext> of(const Headers& headers);

    std::string traceparent() const;
};

enum class SpanKind : std::uint8_t { producer = 4, consumer = 5 };  // the numbers of OTLP

struct SpanAttribute {
    std::string_view key{};  // a literal
    std::variant<std::string, std::int64_t> value{};
};

struct Span {
    TraceContext context{};
    std::string parent_span_id{};  // empty: it begins its trace
    std::optional<TraceContext> link{};
    SpanKind kind = SpanKind::consumer;
    std::string name{};
    Instant start{};
    Instant end{};
    std::vector<SpanAttribute> attributes{};
    bool failed = false;
    std::string error{};  // in words, when it failed
};

// SpanExporter: takes spans to where they are shown.
//
// Thread safety: take() is called from many threads at once.
class SpanExporter {
public:
    SpanExporter() = default;
    SpanExporter(const SpanExporter&) = delete;
    SpanExporter& operator=(const SpanExporter&) = delete;
    virtual ~SpanExporter() = default;

    // Must not wait, for a network least of all: deliveries do.
    virtual void take(Span span) noexcept = 0;
};

// Sampler: which traces are recorded.
struct Sampler {
    double ratio = 1;  // of all traces; by their id, so that all services choose the same
    // Where there is a trace context, its flag decides instead.
    bool parent_based = true;

    // `carried` is what the message carries, or nullptr; `trace_id` that of a trace that begins.
    bool samples(const TraceContext* carried, std::string_view trace_id) const;
};

struct TracingOptions {
    Sampler sampler{};
    const Clock* clock = nullptr;  // of the spans' times; nullptr: SystemClock. Must outlive it
    Random* random = nullptr;      // of the ids; nullptr: the system's. Must outlive it
    std::size_t max_error_chars = 1000;  // longer texts are cut
};

// TracingObserver: makes spans of events. docs/guides/observing.md lists their attributes.
//
// Where no dispatcher measures how long a handler took, a span `process` has a time, but no length.
//
// Thread safety: as of every Observer.
class TracingObserver final : public Observer {
public:
    // `exporter` must outlive it.
    explicit TracingObserver(SpanExporter& exporter, const TracingOptions& options = {});

    void observe(const Event& event) noexcept override;
    bool wants(EventKind kind) const noexcept override;

    // Puts the context of a new trace into the headers of a message about to be enqueued, if they
    // have no `traceparent`. Returns whether it did. OutboxOptions::tracing has it called.
    bool stamp(Headers& headers) const noexcept;

private:
    std::optional<Span> sent(const Event& event) const;
    std::optional<Span> processed(const Event& event) const;
    TraceContext new_context(const TraceContext* carried) const;
    std::string new_id(std::size_t words) const;
    void describe(Span& span, const Event& event, std::string_view operation) const;

    SpanExporter& exporter_;
    const TracingOptions options_;
    const Clock& clock_;
    Random& random_;
};

}  // namespace postroom
