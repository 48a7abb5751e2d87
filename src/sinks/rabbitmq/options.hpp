// The settings of a RabbitMQ sink, read and checked.
#pragma once

#include <string>
#include <vector>

#include "postroom/sink.hpp"

namespace postroom::sink_rabbitmq {

inline constexpr std::size_t short_text_bytes_max = 255;  // AMQP's "short string"

struct RabbitOptions {
    std::string host{};
    int port = 5672;
    std::string user{};
    std::string password{};
    std::string vhost{};
    bool tls = false;
    std::string ca_file{};
    std::string exchange{};
    std::string routing_key{};     // empty: the topic
    bool unroutable_dies = false;  // else it is tried again
    Duration connect_timeout{};
    Duration confirm_timeout{};

    // What may be shown.
    std::string origin() const;
};

std::vector<SinkSetting> described_settings();

// Throws SinkConfigError.
RabbitOptions read_options(const SinkSettings& settings);

}  // namespace postroom::sink_rabbitmq
