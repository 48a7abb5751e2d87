#include "cli/input/message_line.hpp"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "base/base64.hpp"
#include "cli/input/json_fields.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"
#include "queue/message_json.hpp"

namespace postroom::cli {

namespace {

[[noreturn]] void refuse(const JsonField& field, std::string_view what) {
    throw std::invalid_argument(fmt::format("{}: {}", field.key, what));
}

const std::string& text_of(const JsonField& field) {
    if (field.kind != JsonKind::string) refuse(field, "must be a string");
    return field.text;
}

Instant time_of(const JsonField& field) {
    const std::optional<Instant> time = parse_time(text_of(field));
    if (!time) refuse(field, "must be a time such as \"2026-01-31T12:00:00Z\"");
    return *time;
}

std::int64_t number_of(const JsonField& field, std::int64_t least, std::int64_t most) {
    const std::optional<std::int64_t> number =
        field.kind == JsonKind::number ? parse_integer(field.json) : std::nullopt;
    if (!number || *number < least || *number > most)
        refuse(field, fmt::format("must be a whole number from {} to {}", least, most));
    return *number;
}

Headers headers_of(const JsonField& field) {
    if (field.kind != JsonKind::object) refuse(field, "must be an object of strings");
    Headers headers;
    for (const JsonField& header : json_fields(field.json)) {
        if (header.kind != JsonKind::string) refuse(field, "must be an object of strings");
        headers[header.key] = header.text;
    }
    return headers;
}

std::string bytes_of(const JsonField& field) {
    std::optional<std::string> bytes = base::base64_decode(text_of(field));
    if (!bytes) refuse(field, "must be base64");
    return *std::move(bytes);
}

using Take = std::function<void(NewMessage&, const JsonField&)>;

const std::map<std::string, Take>& fields() {
    static const std::map<std::string, Take> known{
        {"topic", [](NewMessage& m, const JsonField& f) { m.topic = TopicName(text_of(f)); }},
        {"payload", [](NewMessage& m, const JsonField& f) { m.payload = f.json; }},
        // What the stdout sink writes can be read again; these two begin anew.
        {"created_at", [](NewMessage&, const JsonField& f) { time_of(f); }},
        {"source", [](NewMessage&, const JsonField& f) { text_of(f); }},
        {"payload_base64", [](NewMessage& m, const JsonField& f) { m.payload = bytes_of(f); }},
        {"content_type", [](NewMessage& m, const JsonField& f) { m.content_type = text_of(f); }},
        {"headers", [](NewMessage& m, const JsonField& f) { m.headers = headers_of(f); }},
        {"message_id",
         [](NewMessage& m, const JsonField& f) { m.message_id = MessageId(text_of(f)); }},
        {"correlation_id",
         [](NewMessage& m, const JsonField& f) { m.correlation_id = text_of(f); }},
        {"tenant_id", [](NewMessage& m, const JsonField& f) { m.tenant_id = text_of(f); }},
        {"idempotency_key",
         [](NewMessage& m, const JsonField& f) { m.idempotency_key = text_of(f); }},
        {"aggregate_type",
         [](NewMessage& m, const JsonField& f) { m.aggregate_type = AggregateType(text_of(f)); }},
        {"aggregate_id", [](NewMessage& m, const JsonField& f) { m.aggregate_id = text_of(f); }},
        {"ordering_key", [](NewMessage& m, const JsonField& f) { m.ordering_key = text_of(f); }},
        {"occurred_at", [](NewMessage& m, const JsonField& f) { m.occurred_at = time_of(f); }},
        {"due_time", [](NewMessage& m, const JsonField& f) { m.due_time = time_of(f); }},
        {"expires_at", [](NewMessage& m, const JsonField& f) { m.expires_at = time_of(f); }},
        {"priority",
         [](NewMessage& m, const JsonField& f) {
             using Limits = std::numeric_limits<std::int32_t>;
             m.priority = static_cast<std::int32_t>(number_of(f, Limits::min(), Limits::max()));
         }},
        {"max_attempts", [](NewMessage& m, const JsonField& f) {
             m.max_attempts = static_cast<std::uint32_t>(number_of(f, 1, 1'000'000));
         }}};
    return known;
}

}  // namespace

const std::vector<std::string>& message_field_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> out;
        for (const auto& [name, take] : fields()) out.push_back(name);
        return out;
    }();
    return names;
}

NewMessage message_from_json(std::string_view line) {
    NewMessage message;
    std::set<std::string> seen;
    std::optional<std::string> text;
    for (const JsonField& field : json_fields(line)) {
        const auto known = fields().find(field.key);
        if (known == fields().end()) {
            throw std::invalid_argument(
                fmt::format("unknown field '{}'{}", printable(shortened(field.key, 60)),
                            did_you_mean(field.key, message_field_names())));
        }
        if (!seen.insert(field.key).second) refuse(field, "is there twice");
        if (field.kind != JsonKind::null || field.key == "payload") known->second(message, field);
        if (field.key == "payload" && field.kind == JsonKind::string) text = field.text;
    }
    // A string is JSON where JSON is what is sent, and else the text itself.
    if (text && !is_json_content_type(message.content_type)) message.payload = std::move(text);
    if (message.topic.empty()) throw std::invalid_argument("topic: is missing");
    if (!message.payload) throw std::invalid_argument("payload: is missing");
    if (seen.contains("payload") && seen.contains("payload_base64"))
        throw std::invalid_argument("payload and payload_base64 are both there");
    return message;
}

}  // namespace postroom::cli
