// The settings of an HTTP sink, its URL first.
#include "settings_lines.hpp"
#include "sinks/http/header_names.hpp"
#include "sinks/http/options.hpp"

namespace postroom::fuzz {

void run(std::string_view input) {
    takes<SinkConfigError>([&] {
        const SinkSettings settings(config_of(input, "url"), sink_http::described_settings());
        const sink_http::HttpOptions options = sink_http::read_options(settings);
        require(options.origin.find('@') == std::string::npos, "no user name is shown");
        require(options.origin.starts_with("http"), "the origin is a URL");
        for (const webhooks::Header& header : options.headers)
            require(sink_http::is_token(header.name) && sink_http::is_header_value(header.value) &&
                        !sink_http::is_reserved(header.name),
                    "a header of the settings is one of HTTP");
    });
}

}  // namespace postroom::fuzz
