// The settings of a Kafka sink, its brokers first.
#include "settings_lines.hpp"
#include "sinks/kafka/options.hpp"

namespace postroom::fuzz {

void run(std::string_view input) {
    takes<SinkConfigError>([&] {
        const SinkSettings settings(config_of(input, "brokers"), sink_kafka::described_settings());
        const sink_kafka::KafkaOptions options = sink_kafka::read_options(settings);
        require(options.origin().find('@') == std::string::npos, "no user name is shown");
        require(!options.brokers.empty(), "there are brokers");
    });
}

}  // namespace postroom::fuzz
