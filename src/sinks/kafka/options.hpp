// The settings of a Kafka sink, read and checked.
#pragma once

#include <string>
#include <vector>

#include "postroom/sink.hpp"

namespace postroom::sink_kafka {

struct KafkaOptions {
    std::string brokers{};  // host:port,host:port
    std::string topic{};    // empty: the message's
    std::string source{};
    bool tls = true;
    std::string security{};  // librdkafka's security.protocol
    std::string mechanism{};
    std::string username{};
    std::string password{};
    std::string ca_file{};
    std::string compression{};
    std::size_t message_bytes_max = 0;
    Duration delivery_timeout{};

    // What may be shown.
    std::string origin() const { return "kafka://" + brokers; }
};

std::vector<SinkSetting> described_settings();

// Throws SinkConfigError.
KafkaOptions read_options(const SinkSettings& settings);

}  // namespace postroom::sink_kafka
