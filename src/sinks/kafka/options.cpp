#include "sinks/kafka/options.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/loopback.hpp"

namespace postroom::sink_kafka {

namespace {

bool is_here(const std::string& broker) {
    return base::is_loopback(broker.substr(0, broker.rfind(':')));
}

// Host and port, and nothing that could hide a user name or another list.
bool is_broker(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
           text.find_first_of("/@") == std::string_view::npos &&
           text.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
}

void read_brokers(const SinkSettings& settings, KafkaOptions& options) {
    const std::vector<std::string> brokers = settings.list("brokers");
    if (brokers.empty() || !std::ranges::all_of(brokers, is_broker))
        settings.refuse("brokers", "must be host:port, or several of them");
    options.brokers = fmt::format("{}", fmt::join(brokers, ","));
    options.tls = settings.flag("tls");
    if (!options.tls && !std::ranges::all_of(brokers, is_here) && !settings.flag("allow_plaintext"))
        settings.refuse("tls",
                        "must be true when a broker is not on this machine; "
                        "'allow_plaintext' lets messages and password go unprotected");
    options.mechanism = settings.text("sasl_mechanism");
    const bool sasl = options.mechanism != "none";
    options.security = fmt::format("{}{}", sasl ? "sasl_" : "", options.tls ? "ssl" : "plaintext");
    options.username = settings.text("username");
    options.password = settings.text("password");
    if (sasl && options.username.empty())
        settings.refuse("username", "must be given with a 'sasl_mechanism'");
    if (!sasl && !(options.username.empty() && options.password.empty()))
        settings.refuse("sasl_mechanism", "must be given with a user name or a password");
}

}  // namespace

std::vector<SinkSetting> described_settings() {
    return {
        {.name = "brokers",
         .what = "Where to find the cluster: host:port, or several of them.",
         .kind = SettingKind::list,
         .required = true},
        {.name = "topic", .what = "The topic in Kafka; empty for the message's topic."},
        {.name = "source",
         .what = "The source attribute of CloudEvents: a URI reference that names the sender.",
         .default_value = "/postroom"},
        {.name = "tls",
         .what = "Whether connections are encrypted and certificates verified.",
         .kind = SettingKind::flag,
         .default_value = "true"},
        {.name = "allow_plaintext",
         .what = "Whether tls may be false to another machine.",
         .kind = SettingKind::flag,
         .default_value = "false"},
        {.name = "sasl_mechanism",
         .what = "How to log in.",
         .kind = SettingKind::choice,
         .default_value = "none",
         .choices = {"none", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}},
        {.name = "username", .what = "The user name for SASL."},
        {.name = "password", .what = "The password for SASL.", .secret = true},
        {.name = "ca_file",
         .what = "Certificates to trust instead of the system's, in PEM.",
         .kind = SettingKind::path},
        {.name = "compression",
         .what = "Compression of batches.",
         .kind = SettingKind::choice,
         .default_value = "none",
         .choices = {"none", "gzip", "snappy", "lz4", "zstd"}},
        {.name = "message_bytes_max",
         .what = "The largest message that is sent; a larger one is dead. Not above the brokers' "
                 "message.max.bytes.",
         .kind = SettingKind::count,
         .default_value = "1000000",
         .least = 1000,
         .most = 1'000'000'000},
        {.name = "delivery_timeout",
         .what = "Until a message that the cluster has not acknowledged counts as an outage.",
         .kind = SettingKind::duration,
         .default_value = "10s",
         .least = 100,
         .most = 600'000},
    };
}

KafkaOptions read_options(const SinkSettings& settings) {
    KafkaOptions options;
    read_brokers(settings, options);
    options.topic = settings.text("topic");
    options.source = settings.text("source");
    if (options.source.empty()) settings.refuse("source", "must be a URI reference");
    options.ca_file = settings.text("ca_file");
    options.compression = settings.text("compression");
    options.message_bytes_max = static_cast<std::size_t>(settings.count("message_bytes_max"));
    options.delivery_timeout = settings.duration("delivery_timeout");
    return options;
}

}  // namespace postroom::sink_kafka
