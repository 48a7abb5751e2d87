// The settings of a RabbitMQ sink, its URL first.
#include "settings_lines.hpp"
#include "sinks/rabbitmq/options.hpp"

namespace postroom::fuzz {

void run(std::string_view input) {
    takes<SinkConfigError>([&] {
        const SinkSettings settings(config_of(input, "url"), sink_rabbitmq::described_settings());
        sink_rabbitmq::RabbitOptions options = sink_rabbitmq::read_options(settings);
        const std::string shown = options.origin();
        options.user.clear();
        options.password.clear();
        require(options.origin() == shown, "neither user nor password is shown");
        require(options.port > 0 && options.port < 65536, "a URL has a port");
        require(!options.host.empty(), "a URL has a host");
    });
}

}  // namespace postroom::fuzz
