#include "queue/message_json.hpp"

#include <algorithm>
#include <optional>

#include "base/base64.hpp"
#include "base/json_map.hpp"
#include "base/json_text.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"

namespace postroom {

namespace {

// Without parameters, in lower case.
std::string media_type(std::string_view content_type) {
    content_type = content_type.substr(0, content_type.find(';'));
    while (content_type.ends_with(' ')) content_type.remove_suffix(1);
    std::string lower(content_type);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    return lower;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    out += ',';
    base::append_json_string(out, name);
    out += ':';
    // A foreign writer's row may hold anything; a line of ours is always valid.
    base::append_json_string(
        out, base::is_valid_utf8(value) ? std::string(value) : base::sanitize_utf8(value));
}

void append_member(std::string& out, std::string_view name, const std::optional<Instant>& value) {
    if (value) append_member(out, name, base::rfc3339(*value));
}

}  // namespace

bool is_json_content_type(std::string_view content_type) {
    const std::string type = media_type(content_type);
    return type == "application/json" || type.ends_with("+json");
}

void append_payload_member(std::string& out, const Message& message) {
    if (is_json_content_type(message.content_type)) {
        if (const std::optional<std::string> json = base::compact_json(message.payload)) {
            out += "\"payload\":" + *json;
            return;
        }
    } else if (media_type(message.content_type).starts_with("text/") &&
               base::is_valid_utf8(message.payload)) {
        out += "\"payload\":";
        base::append_json_string(out, message.payload);
        return;
    }
    out += "\"payload_base64\":\"" + base::base64_encode(message.payload) + '"';
}

std::string message_json(const Message& message) {
    std::string out = "{\"message_id\":";
    base::append_json_string(out, base::sanitize_utf8(message.message_id.str()));
    append_member(out, "topic", message.topic);
    append_member(out, "content_type", message.content_type);
    if (!message.headers.empty()) out += ",\"headers\":" + base::to_json(message.headers);
    append_member(out, "correlation_id", message.correlation_id);
    append_member(out, "tenant_id", message.tenant_id);
    if (message.aggregate_type != AggregateType::global().str())
        append_member(out, "aggregate_type", message.aggregate_type);
    append_member(out, "aggregate_id", message.aggregate_id);
    append_member(out, "ordering_key", message.ordering_key);
    append_member(out, "source", message.source);
    append_member(out, "created_at", message.created_at);
    append_member(out, "occurred_at", message.occurred_at);
    out += ',';
    append_payload_member(out, message);
    return out + '}';
}

}  // namespace postroom
