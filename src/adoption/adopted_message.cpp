#include "adoption/adopted_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/json_map.hpp"

namespace postroom::adoption {

namespace {

constexpr std::size_t ulid_chars = 26;

// An id that is unique in its own table only would meet others like it here.
bool is_unique_anywhere(const std::string& id) {
    return Uuid::parse(id).has_value() || id.size() == ulid_chars;
}

std::string text_in(const Row& row, std::string_view field, std::string otherwise = "") {
    const auto at = row.find(field);
    return at == row.end() || at->second.empty() ? std::move(otherwise) : at->second;
}

std::optional<std::int64_t> number_in(const Row& row, std::string_view field) {
    const auto at = row.find(field);
    if (at == row.end()) return std::nullopt;
    return whole_number(field, at->second);
}

std::optional<Instant> time_in(const Row& row, std::string_view field) {
    const std::optional<std::int64_t> micros = number_in(row, field);
    return micros ? std::optional(Instant{Duration{*micros}}) : std::nullopt;
}

Headers headers_in(const Row& row) {
    const std::optional<Headers> headers = base::map_from_json(text_in(row, "headers", "{}"));
    if (!headers) throw std::invalid_argument("headers: not a JSON object");
    return *headers;
}

std::int32_t priority_in(const Row& row) {
    const std::int64_t priority = number_in(row, "priority").value_or(0);
    if (priority < INT32_MIN || priority > INT32_MAX)
        throw std::invalid_argument("priority: out of range");
    return static_cast<std::int32_t>(priority);
}

std::optional<std::uint32_t> max_attempts_in(const Row& row) {
    const std::int64_t count = number_in(row, "max_attempts").value_or(0);
    if (count <= 0 || count > INT32_MAX) return std::nullopt;
    return static_cast<std::uint32_t>(count);
}

}  // namespace

std::int64_t whole_number(std::string_view field, const std::string& text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || read != end)
        throw std::invalid_argument(fmt::format("{}: not a whole number", field));
    return value;
}

NewMessage message_of(const TableSql& table, const Row& row, const Limits& limits) {
    const std::string& own_id = row.at("id");
    const std::string key = table.key_of(own_id);
    const std::string id = text_in(row, "message_id", own_id);
    NewMessage message;
    message.message_id = MessageId(is_unique_anywhere(id) ? id : key);
    message.topic = TopicName(text_in(row, "topic"));
    if (row.contains("payload")) message.payload = row.at("payload");
    message.content_type = text_in(row, "content_type", message.content_type);
    message.headers = headers_in(row);
    message.correlation_id = text_in(row, "correlation_id");
    message.tenant_id = text_in(row, "tenant_id");
    message.idempotency_key = text_in(row, "idempotency_key", key);
    const std::string aggregate_type = text_in(row, "aggregate_type");
    if (!aggregate_type.empty()) message.aggregate_type = AggregateType(aggregate_type);
    message.aggregate_id = text_in(row, "aggregate_id");
    message.ordering_key = text_in(row, "ordering_key");
    message.occurred_at = time_in(row, row.contains("occurred_at") ? "occurred_at" : "created_at");
    // Nothing is the least.
    message.due_time = std::max(time_in(row, "due_time"), time_in(row, "next_attempt_at"));
    message.expires_at = time_in(row, "expires_at");
    message.max_attempts = max_attempts_in(row);
    message.priority = priority_in(row);
    validate(message, limits);
    return message;
}

}  // namespace postroom::adoption
