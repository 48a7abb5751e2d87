#include "queue/message_json.hpp"

#include <algorithm>
#include <optional>

#include "base/base64.hpp"
#include "base/json_map.hpp"
#include "base/json_text.hpp"
#include "base/rfc3339.hpp"
#include "base/utf8.hpp"
#include "queue/message_fields.hpp"

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

void append_name(std::string& out, std::string_view name) {
    if (out.size() > 1) out += ',';
    base::append_json_string(out, name);
    out += ':';
}

// A text that says nothing but what is understood anyway is left out, the content type excepted.
void append_member(std::string& out, const Field& field, std::string_view value) {
    if (value.empty() || (value == AggregateType::global_name && value == field.otherwise)) return;
    append_name(out, field.name);
    base::append_json_string(out, value);
}

void append_member(std::string& out, const Field& field, const MessageId& id) {
    append_member(out, field, std::string_view(id.str()));
}

void append_member(std::string& out, const Field& field, Instant time) {
    append_member(out, field, std::string_view(base::rfc3339(time)));
}

void append_member(std::string& out, const Field& field, const Headers& headers) {
    if (headers.empty()) return;
    append_name(out, field.name);
    out += base::to_json(headers);
}

// Numbers and states are not published.
template <class Other>
void append_member(std::string&, const Field&,
                   const Other&) requires(std::is_arithmetic_v<Other> || std::is_enum_v<Other>) {}

template <class Given>
void append_member(std::string& out, const Field& field, const std::optional<Given>& value) {
    if (value) append_member(out, field, *value);
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
    std::string out = "{";
    visit_fields(message, [&](FieldIndex index, const auto& member) {
        const Field& field = field_of(index);
        if (field.is_in(in_publish)) append_member(out, field, member);
    });
    if (out.size() > 1) out += ',';
    append_payload_member(out, message);
    return out + '}';
}

}  // namespace postroom
