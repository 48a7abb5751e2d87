// A message in AMQP's terms: routing key, properties, headers. Points into the message and the
// options, which must outlive it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <amqp.h>
#include <amqp_framing.h>

#include "postroom/message.hpp"
#include "sinks/rabbitmq/options.hpp"

namespace postroom::sink_rabbitmq {

class Envelope {
public:
    // Throws PermanentFailure for a message that cannot be said in AMQP.
    Envelope(const Message& message, const RabbitOptions& options);
    Envelope(const Envelope&) = delete;
    Envelope& operator=(const Envelope&) = delete;

    amqp_bytes_t routing_key() const { return routing_key_; }
    const amqp_basic_properties_t& properties() const { return properties_; }
    amqp_bytes_t body() const { return body_; }
    // What properties and headers take on the wire, at most.
    std::size_t header_bytes() const { return header_bytes_; }

private:
    amqp_bytes_t short_text(std::string_view what, std::string_view text);
    void add_header(std::string_view name, std::string_view value);

    std::size_t header_bytes_;
    amqp_bytes_t routing_key_{};
    amqp_bytes_t body_{};
    std::vector<amqp_table_entry_t> headers_;
    amqp_basic_properties_t properties_{};
};

amqp_bytes_t bytes_of(std::string_view text);
std::string_view text_of(amqp_bytes_t bytes);

}  // namespace postroom::sink_rabbitmq
