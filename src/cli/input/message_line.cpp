#include "cli/input/message_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/base64.hpp"
#include "base/json_fields.hpp"
#include "cli/nearest.hpp"
#include "cli/output/text.hpp"
#include "queue/message_fields.hpp"
#include "queue/message_json.hpp"

namespace postroom::cli {

namespace {

using base::json_fields;
using base::JsonField;
using base::JsonKind;

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

// Takes the value of a JSON field into the member that it is meant for.
class Taker {
public:
    explicit Taker(const JsonField& field) : field_(field) {}

    void take(std::string& out) const { out = text_of(field_); }
    void take(TopicName& out) const { out = TopicName(text_of(field_)); }
    void take(AggregateType& out) const { out = AggregateType(text_of(field_)); }
    void take(MessageId& out) const { out = MessageId(text_of(field_)); }
    void take(Headers& out) const { out = headers_of(field_); }
    void take(std::optional<std::string>& payload) const { payload = field_.json; }
    void take(std::optional<Instant>& out) const { out = time_of(field_); }
    void take(std::int32_t& out) const {
        using Limits = std::numeric_limits<std::int32_t>;
        out = static_cast<std::int32_t>(number_of(field_, Limits::min(), Limits::max()));
    }
    void take(std::optional<std::uint32_t>& out) const {
        out = static_cast<std::uint32_t>(number_of(field_, 1, 1'000'000));
    }

private:
    const JsonField& field_;
};

void take_field(NewMessage& message, const JsonField& field) {
    // What the stdout sink writes can be read again; the first two begin anew.
    if (field.key == "created_at") {
        time_of(field);
    } else if (field.key == "source") {
        text_of(field);
    } else if (field.key == "payload_base64") {
        message.payload = bytes_of(field);
    } else {
        visit_fields(message, [&](FieldIndex index, auto& member) {
            if (field_of(index).name == field.key) Taker(field).take(member);
        });
    }
}

}  // namespace

const std::vector<std::string>& message_field_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> out{"created_at", "payload_base64", "source"};
        visit_fields(NewMessage{}, [&](FieldIndex index, const auto&) {
            out.emplace_back(field_of(index).name);
        });
        std::sort(out.begin(), out.end());
        return out;
    }();
    return names;
}

NewMessage message_from_json(std::string_view line) {
    NewMessage message;
    std::set<std::string> seen;
    std::optional<std::string> text;
    for (const JsonField& field : json_fields(line)) {
        if (!std::binary_search(message_field_names().begin(), message_field_names().end(),
                                field.key)) {
            throw std::invalid_argument(
                fmt::format("unknown field '{}'{}", printable(shortened(field.key, 60)),
                            did_you_mean(field.key, message_field_names())));
        }
        if (!seen.insert(field.key).second) refuse(field, "is there twice");
        if (field.kind != JsonKind::null || field.key == "payload") take_field(message, field);
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
