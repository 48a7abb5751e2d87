#include "postroom/tracing.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "base/utf8.hpp"
#include "queue/trace_headers.hpp"

namespace postroom {

namespace {

constexpr std::size_t trace_digits = 32;
constexpr std::size_t span_digits = 16;
constexpr std::size_t traceparent_chars = 55;  // 00-<trace>-<span>-<flags>
constexpr std::size_t state_chars_max = 512;   // what the recommendation asks everybody to carry

const Clock& default_clock() {
    static const SystemClock clock;
    return clock;
}

Random& default_random() {
    static base::SystemRandom random;
    return random;
}

bool is_lower_hex(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
    return is_lower_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

// A later version may be longer; what this one knows stands at the same places.
bool has_shape(std::string_view text) {
    if (text.size() < traceparent_chars || text[2] != '-' || text[35] != '-' || text[52] != '-')
        return false;
    const std::string_view version = text.substr(0, 2);
    if (!is_lower_hex(version) || version == "ff") return false;
    if (text.size() == traceparent_chars) return true;
    return version != "00" && text[traceparent_chars] == '-';
}

std::uint64_t number_of(std::string_view digits) {
    std::uint64_t number = 0;
    for (const char c : digits)
        number = number << 4 | static_cast<std::uint64_t>(base::hex_digit_value(c));
    return number;
}

// The handler was called, or the message will never come to one.
bool is_delivery(const Event& event) {
    if (event.kind == EventKind::released) return event.duration > Duration::zero();
    return !event.message->topic.empty();
}

// Few words: they are searched for.
std::string_view error_type(const Event& event) {
    switch (event.kind) {
        case EventKind::retried:
            return "delivery_failed";
        case EventKind::released:
            return "destination_down";
        case EventKind::lost:
            return "lease_lost";
        case EventKind::dead:
            return to_string(event.reason);
        default:
            return {};
    }
}

std::string_view outcome_of(EventKind kind) {
    switch (kind) {
        case EventKind::retried:
            return "retried";
        case EventKind::released:
            return "released";
        case EventKind::lost:
            return "lost";
        case EventKind::dead:
            return "dead";
        default:
            return "delivered";
    }
}

}  // namespace

std::optional<TraceContext> TraceContext::of(const Headers& headers) {
    const auto parent = headers.find(traceparent_header);
    if (parent == headers.end() || !has_shape(parent->second)) return std::nullopt;
    const std::string_view text = parent->second;
    TraceContext context{.trace_id = std::string(text.substr(3, trace_digits)),
                         .span_id = std::string(text.substr(36, span_digits))};
    const std::string_view flags = text.substr(53, 2);
    if (!is_id(context.trace_id) || !is_id(context.span_id) || !is_lower_hex(flags))
        return std::nullopt;
    context.sampled = (number_of(flags) & 1) != 0;
    const auto state = headers.find(tracestate_header);
    if (state != headers.end() && state->second.size() <= state_chars_max)
        context.state = state->second;
    return context;
}

std::string TraceContext::traceparent() const {
    return fmt::format("00-{}-{}-{}", trace_id, span_id, sampled ? "01" : "00");
}

// As other SDKs do: the last 63 bits of the id against that part of their range.
bool Sampler::samples(const TraceContext* carried, std::string_view trace_id) const {
    if (carried != nullptr && parent_based) return carried->sampled;
    if (ratio >= 1) return true;
    const std::string_view id = carried != nullptr ? carried->trace_id : trace_id;
    const std::uint64_t number = number_of(id.substr(id.size() - span_digits)) >> 1;
    return number < static_cast<std::uint64_t>(std::ldexp(std::max(ratio, 0.0), 63));
}

TracingObserver::TracingObserver(SpanExporter& exporter, const TracingOptions& options)
    : exporter_(exporter),
      options_(options),
      clock_(options.clock == nullptr ? default_clock() : *options.clock),
      random_(options.random == nullptr ? default_random() : *options.random) {}

bool TracingObserver::wants(EventKind kind) const noexcept {
    switch (kind) {
        case EventKind::enqueued:
        case EventKind::delivered:
        case EventKind::retried:
        case EventKind::dead:
        case EventKind::released:
        case EventKind::lost:
            return true;
        default:
            return false;
    }
}

std::string TracingObserver::new_id(std::size_t words) const {
    std::string id;
    do {
        id.clear();
        for (std::size_t i = 0; i < words; ++i) id += fmt::format("{:016x}", random_.next());
    } while (!is_id(id));
    return id;
}

// Of a trace that begins here. Its fate is that of what the message carries, so that a trace does
// not link to one that nobody has.
TraceContext TracingObserver::new_context(const TraceContext* carried) const {
    TraceContext context{.trace_id = new_id(2), .span_id = new_id(1)};
    context.sampled = options_.sampler.samples(carried, context.trace_id);
    return context;
}

// Failing to trace must not keep a message from being sent.
bool TracingObserver::stamp(Headers& headers) const noexcept {
    try {
        return headers.try_emplace(traceparent_header, new_context(nullptr).traceparent()).second;
    } catch (...) {
        return false;
    }
}

void TracingObserver::describe(Span& span, const Event& event, std::string_view operation) const {
    const Message& message = *event.message;
    const auto add = [&span](std::string_view key, std::string_view value) {
        if (!value.empty()) span.attributes.push_back({key, std::string(value)});
    };
    span.name = fmt::format("{} {}", operation, message.topic);
    span.end = clock_.now() - event.since;
    span.start = span.end - std::max(event.duration, Duration::zero());
    add("messaging.system", "postroom");
    add("messaging.operation.name", operation);
    add("messaging.operation.type", operation);
    add("messaging.destination.name", message.topic);
    add("messaging.message.id", message.message_id.str());
    add("messaging.message.conversation_id", message.correlation_id);
    add("postroom.store", event.store);
    add("postroom.queue", to_string(event.queue));
}

std::optional<Span> TracingObserver::sent(const Event& event) const {
    // An inbox takes in what somebody else has sent.
    if (event.queue != Queue::outbox) return std::nullopt;
    Span span{.kind = SpanKind::producer};
    const std::optional<TraceContext> carried = TraceContext::of(event.message->headers);
    if (carried && event.stamped) {
        span.context = *carried;
    } else if (carried) {
        span.context = *carried;
        span.context.span_id = new_id(1);
        span.context.sampled = options_.sampler.samples(&*carried, carried->trace_id);
        span.parent_span_id = carried->span_id;
    } else {
        span.context = new_context(nullptr);
    }
    if (!span.context.sampled) return std::nullopt;
    describe(span, event, "send");
    return span;
}

std::optional<Span> TracingObserver::processed(const Event& event) const {
    if (!is_delivery(event)) return std::nullopt;
    Span span{.link = TraceContext::of(event.message->headers), .kind = SpanKind::consumer};
    span.context = new_context(span.link ? &*span.link : nullptr);
    if (!span.context.sampled) return std::nullopt;
    describe(span, event, "process");
    span.attributes.push_back({"postroom.outcome", std::string(outcome_of(event.kind))});
    span.attributes.push_back({"postroom.retry_count", std::int64_t{event.attempts}});
    span.failed = event.kind != EventKind::delivered;
    if (!span.failed) return span;
    span.attributes.push_back({"error.type", std::string(error_type(event))});
    span.error = base::shortened(event.error, options_.max_error_chars);
    return span;
}

void TracingObserver::observe(const Event& event) noexcept {
    if (event.message == nullptr || !wants(event.kind)) return;
    try {
        std::optional<Span> span =
            event.kind == EventKind::enqueued ? sent(event) : processed(event);
        if (span) exporter_.take(std::move(*span));
    } catch (...) {
        // No memory, or no random numbers: one span less.
    }
}

}  // namespace postroom
