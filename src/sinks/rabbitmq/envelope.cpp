#include "sinks/rabbitmq/envelope.hpp"

#include <fmt/format.h>

#include "postroom/handler.hpp"

namespace postroom::sink_rabbitmq {

namespace {

constexpr std::uint8_t persistent = 2;

// Class, weight, length of the body, flags, length of the table, delivery mode, timestamp.
constexpr std::size_t fixed_header_bytes = 2 + 2 + 8 + 2 + 4 + 1 + 8;

}  // namespace

// The C library takes a pointer to non-const, and only reads.
amqp_bytes_t bytes_of(std::string_view text) {
    return {.len = text.size(), .bytes = const_cast<char*>(text.data())};
}

std::string_view text_of(amqp_bytes_t bytes) {
    return {static_cast<const char*>(bytes.bytes), bytes.len};
}

// One byte tells its length.
amqp_bytes_t Envelope::short_text(std::string_view what, std::string_view text) {
    if (text.size() > short_text_bytes_max)
        throw PermanentFailure(fmt::format("the {} has more than {} bytes, which AMQP cannot carry",
                                           what, short_text_bytes_max));
    header_bytes_ += 1 + text.size();
    return bytes_of(text);
}

Envelope::Envelope(const Message& message, const RabbitOptions& options)
    : header_bytes_(fixed_header_bytes),
      routing_key_(
          short_text("topic", options.routing_key.empty() ? message.topic : options.routing_key)),
      body_(bytes_of(message.payload)) {
    for (const auto& [name, value] : message.headers) add_header(name, value);
    if (!message.ordering_key.empty()) add_header("ordering_key", message.ordering_key);
    if (!message.tenant_id.empty()) add_header("tenant_id", message.tenant_id);
    if (!message.aggregate_id.empty()) add_header("aggregate_id", message.aggregate_id);

    properties_._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                         AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                         AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_APP_ID_FLAG;
    properties_.content_type = short_text("content type", message.content_type);
    properties_.headers = {.num_entries = static_cast<int>(headers_.size()),
                           .entries = headers_.data()};
    properties_.delivery_mode = persistent;
    properties_.message_id = short_text("message id", message.message_id.str());
    properties_.timestamp = static_cast<std::uint64_t>(
        std::chrono::floor<std::chrono::seconds>(message.created_at).time_since_epoch().count());
    properties_.type = short_text("topic", message.topic);
    properties_.app_id = short_text("name", "postroom");
    if (!message.correlation_id.empty()) {
        properties_._flags |= AMQP_BASIC_CORRELATION_ID_FLAG;
        properties_.correlation_id = short_text("correlation id", message.correlation_id);
    }
}

void Envelope::add_header(std::string_view name, std::string_view value) {
    amqp_table_entry_t entry{};
    entry.key = short_text("name of a header", name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = bytes_of(value);
    header_bytes_ += 1 + 4 + value.size();  // kind and length in front of the value
    headers_.push_back(entry);
}

}  // namespace postroom::sink_rabbitmq
