// The settings of an HTTP sink, read and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "postroom/sink.hpp"
#include "postroom/webhooks.hpp"
#include "sinks/http/address_guard.hpp"

namespace postroom::sink_http {

enum class Format : std::uint8_t {
    plain,       // the payload, with our own headers
    binary,      // CloudEvents: attributes in headers, the payload as body
    structured,  // CloudEvents: all of it as one JSON object
};

struct HttpOptions {
    std::string url{};
    std::string origin{};  // scheme, host and port: what may be shown
    Format format = Format::binary;
    std::string source{};
    std::vector<std::string> signing_keys{};
    std::string authorization{};
    std::vector<webhooks::Header> headers{};  // of every request
    std::string proxy{};                      // empty: none
    Duration timeout{};
    Duration connect_timeout{};
    Duration retry_after_max{};
    std::size_t concurrency = 1;
    std::uint64_t unanswered_max = 0;
    std::string ca_file{};
    std::string certificate_file{};  // of ours, with key_file; empty: none
    std::string key_file{};
    std::size_t excerpt_bytes_max = 0;
    std::vector<Network> allowed_networks{};
};

std::vector<SinkSetting> described_settings();

// Throws SinkConfigError.
HttpOptions read_options(const SinkSettings& settings);

}  // namespace postroom::sink_http
