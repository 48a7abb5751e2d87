#include "otlp/otlp_json.hpp"

#include <chrono>

#include "base/json_writer.hpp"

namespace postroom::otlp {

namespace {

using base::JsonArray;
using base::JsonObject;

constexpr std::uint32_t sampled_flag = 1;
constexpr std::uint32_t remote_flags = 0x300;  // it is known whether it came from elsewhere: it did
constexpr int status_error = 2;

// 64-bit numbers are texts in the JSON of Protocol Buffers.
std::string nanoseconds(Instant time) {
    return std::to_string(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

std::string attribute(std::string_view key, const JsonObject& value) {
    return JsonObject().add("key", key).add_json("value", value.text()).text();
}

std::string attribute(std::string_view key, const std::string& text) {
    return attribute(key, JsonObject().add("stringValue", text));
}

std::string attribute(std::string_view key, std::int64_t number) {
    return attribute(key, JsonObject().add("intValue", std::to_string(number)));
}

JsonObject context_json(const TraceContext& context, std::uint32_t flags) {
    JsonObject out;
    out.add("traceId", context.trace_id)
        .add("spanId", context.span_id)
        .add_text("traceState", context.state)
        .add("flags", flags | (context.sampled ? sampled_flag : 0));
    return out;
}

std::string span_json(const Span& span) {
    JsonArray attributes;
    for (const SpanAttribute& given : span.attributes)
        attributes.add_json(std::visit(
            [&given](const auto& value) { return attribute(given.key, value); }, given.value));
    JsonObject out = context_json(span.context, 0);
    out.add_text("parentSpanId", span.parent_span_id)
        .add("name", span.name)
        .add("kind", static_cast<int>(span.kind))
        .add("startTimeUnixNano", nanoseconds(span.start))
        .add("endTimeUnixNano", nanoseconds(span.end))
        .add_json("attributes", attributes.text());
    if (span.link)
        out.add_json("links",
                     JsonArray().add_json(context_json(*span.link, remote_flags).text()).text());
    if (span.failed)
        out.add_json("status",
                     JsonObject().add("code", status_error).add_text("message", span.error).text());
    return out.text();
}

std::string scope_json() {
    return JsonObject().add("name", "postroom").add("version", POSTROOM_VERSION).text();
}

}  // namespace

std::string spans_json(const Headers& resource, std::span<const Span> spans) {
    JsonArray attributes;
    for (const auto& [key, value] : resource) attributes.add_json(attribute(key, value));
    JsonArray list;
    for (const Span& span : spans) list.add_json(span_json(span));
    const std::string scope_spans =
        JsonObject().add_json("scope", scope_json()).add_json("spans", list.text()).text();
    const std::string resource_spans =
        JsonObject()
            .add_json("resource", JsonObject().add_json("attributes", attributes.text()).text())
            .add_json("scopeSpans", JsonArray().add_json(scope_spans).text())
            .text();
    return JsonObject()
        .add_json("resourceSpans", JsonArray().add_json(resource_spans).text())
        .text();
}

}  // namespace postroom::otlp
