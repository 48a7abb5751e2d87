#include "postroom/message.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "base/assert.hpp"
#include "base/utf8.hpp"

namespace postroom {

namespace {

[[noreturn]] void refuse(std::string_view field, std::string_view complaint) {
    throw std::invalid_argument(fmt::format("{}: {}", field, complaint));
}

// What every database stores as text without changing or refusing it.
void check_storable(std::string_view field, std::string_view text) {
    if (text.find('\0') != std::string_view::npos) refuse(field, "contains a NUL byte");
    if (!base::is_valid_utf8(text)) refuse(field, "is not valid UTF-8");
}

void check_text(std::string_view field, std::string_view text, std::size_t chars_max) {
    check_storable(field, text);
    const std::size_t chars = base::code_point_count(text);
    if (chars > chars_max)
        refuse(field, fmt::format("{} characters, at most {} allowed", chars, chars_max));
}

void check_name(std::string_view field, std::string_view text, std::size_t chars_max) {
    if (text.empty()) refuse(field, "must not be empty");
    check_text(field, text, chars_max);
}

void check_bytes(std::string_view field, std::size_t bytes, std::size_t bytes_max) {
    if (bytes > bytes_max)
        refuse(field, fmt::format("{} bytes, at most {} allowed", bytes, bytes_max));
}

void check_payload(const std::optional<std::string>& payload, const Limits& limits) {
    if (!payload) refuse("payload", "missing; give an empty string for a message without a body");
    if (payload->size() > limits.max_payload_bytes)
        refuse("payload", fmt::format("{} bytes, at most {} allowed (max_payload_bytes)",
                                      payload->size(), limits.max_payload_bytes));
}

// A line break would let a value smuggle in further headers wherever they are sent as lines.
void check_header_text(std::string_view field, std::string_view text) {
    check_storable(field, text);
    if (text.find_first_of("\r\n") != std::string_view::npos) refuse(field, "contains CR or LF");
}

void check_headers(const Headers& headers, std::size_t bytes_max) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : headers) {
        if (name.empty()) refuse("headers", "name must not be empty");
        check_header_text("headers: name", name);
        check_header_text(fmt::format("headers: value of \"{}\"", name), value);
        bytes += name.size() + value.size();
    }
    check_bytes("headers", bytes, bytes_max);
}

// What a message of either queue may say about its delivery.
template <class AnyMessage>
void check_delivery(const AnyMessage& message) {
    if (message.due_time && message.expires_at && *message.expires_at <= *message.due_time)
        refuse("expires_at", "must lie after due_time");
    if (message.max_attempts && *message.max_attempts < 1)
        refuse("max_attempts", "0, at least 1 required");
}

}  // namespace

std::string_view to_string(Queue queue) { return queue == Queue::outbox ? "outbox" : "inbox"; }

std::string_view state_name(Queue queue, State state) {
    const bool inbox = queue == Queue::inbox;
    switch (state) {
        case State::ready:
            return inbox ? "Processing" : "Ready";
        case State::in_progress:
            return inbox ? "Processing" : "InProgress";
        case State::done:
            return "Done";
        case State::dead:
            return inbox ? "Dead" : "Failed";
        case State::seen:
            return "Seen";
    }
    POSTROOM_ASSERT(false && "a State outside its enum");
    return {};
}

std::string_view to_string(DeadReason reason) {
    switch (reason) {
        case DeadReason::none:
            return "none";
        case DeadReason::failed:
            return "failed";
        case DeadReason::max_attempts:
            return "max_attempts";
        case DeadReason::crash_limit:
            return "crash_limit";
        case DeadReason::expired:
            return "expired";
        case DeadReason::cancelled:
            return "cancelled";
        case DeadReason::unreadable:
            return "unreadable";
        case DeadReason::restored:
            return "restored";
    }
    POSTROOM_ASSERT(false && "a DeadReason outside its enum");
    return {};
}

DeadReason dead_reason_from(std::string_view text) {
    if (text.empty()) return DeadReason::none;
    for (const DeadReason reason :
         {DeadReason::none, DeadReason::max_attempts, DeadReason::crash_limit, DeadReason::expired,
          DeadReason::cancelled, DeadReason::unreadable, DeadReason::restored})
        if (text == to_string(reason)) return reason;
    // A newer library may know more reasons; their messages must stay readable, and dead.
    return DeadReason::failed;
}

void validate(const NewMessage& message, const Limits& limits) {
    check_name("topic", message.topic.str(), limits.topic_chars);
    check_payload(message.payload, limits);
    check_text("content_type", message.content_type, limits.content_type_chars);
    check_headers(message.headers, limits.headers_bytes);
    check_text("message_id", message.message_id.str(), limits.message_id_chars);
    check_text("correlation_id", message.correlation_id, limits.correlation_id_chars);
    check_text("tenant_id", message.tenant_id, limits.tenant_id_chars);
    check_text("idempotency_key", message.idempotency_key, limits.idempotency_key_chars);
    check_name("aggregate_type", message.aggregate_type.str(), limits.aggregate_type_chars);
    check_text("aggregate_id", message.aggregate_id, limits.aggregate_id_chars);
    check_text("ordering_key", message.ordering_key, limits.ordering_key_chars);
    check_delivery(message);
}

void validate(const ReceivedMessage& message, const Limits& limits) {
    check_name("topic", message.topic.str(), limits.topic_chars);
    validate(message.key(), limits);
    check_payload(message.payload, limits);
    if (message.hash) check_bytes("hash", message.hash->size(), limits.hash_bytes);
    check_text("content_type", message.content_type, limits.content_type_chars);
    check_headers(message.headers, limits.headers_bytes);
    check_text("ordering_key", message.ordering_key, limits.ordering_key_chars);
    check_delivery(message);
}

void validate(const InboxKey& key, const Limits& limits) {
    check_name("source", key.source, limits.source_chars);
    check_name("message_id", key.message_id, limits.inbox_message_id_chars);
}

}  // namespace postroom
