#include "sinks/rabbitmq/options.hpp"

#include <amqp.h>
#include <fmt/format.h>

#include "base/loopback.hpp"

namespace postroom::sink_rabbitmq {

namespace {

void read_url(const SinkSettings& settings, RabbitOptions& options) {
    std::string url = settings.text("url");  // is cut into pieces in place
    amqp_connection_info parts{};
    amqp_default_connection_info(&parts);
    if (amqp_parse_url(url.data(), &parts) != AMQP_STATUS_OK)
        settings.refuse("url", "must be a URL, such as amqps://user:password@host/vhost");
    if (*parts.host == '\0' || parts.port < 1)
        settings.refuse("url", "must name a host, and a port from 1 to 65535 if it names one");
    options.host = parts.host;
    options.port = parts.port;
    options.user = parts.user;
    options.password = parts.password;
    options.vhost = parts.vhost;
    options.tls = parts.ssl != 0;
    if (!options.tls && !base::is_loopback(options.host) && !settings.flag("allow_plaintext"))
        settings.refuse("url",
                        "must begin with amqps:// when the server is not on this machine; "
                        "'allow_plaintext' lets the password and the messages go unprotected");
}

}  // namespace

std::string RabbitOptions::origin() const {
    return fmt::format("{}://{}:{}", tls ? "amqps" : "amqp", host, port);
}

std::vector<SinkSetting> described_settings() {
    return {
        {.name = "url",
         .what = "The server: amqps://user:password@host:port/vhost, or amqp:// on this machine.",
         .kind = SettingKind::url,
         .required = true},
        {.name = "exchange",
         .what = "The exchange to publish to; empty for the default exchange, which delivers to "
                 "the queue named by the routing key."},
        {.name = "routing_key", .what = "The routing key; empty for the message's topic."},
        {.name = "unroutable",
         .what = "What becomes of a message that no queue takes: it is tried again, or dead.",
         .kind = SettingKind::choice,
         .default_value = "retry",
         .choices = {"retry", "dead"}},
        {.name = "connect_timeout",
         .what = "For connecting, TLS and login included.",
         .kind = SettingKind::duration,
         .default_value = "5s",
         .least = 10,
         .most = 600'000},
        {.name = "confirm_timeout",
         .what = "For the server's confirmation of a batch.",
         .kind = SettingKind::duration,
         .default_value = "20s",
         .least = 10,
         .most = 600'000},
        {.name = "ca_file",
         .what = "Certificates to trust, in PEM.",
         .kind = SettingKind::path,
         .default_value = "/etc/ssl/certs/ca-certificates.crt"},
        {.name = "allow_plaintext",
         .what = "Whether amqp:// may be used to another machine.",
         .kind = SettingKind::flag,
         .default_value = "false"},
    };
}

RabbitOptions read_options(const SinkSettings& settings) {
    RabbitOptions options;
    read_url(settings, options);
    options.exchange = settings.text("exchange");
    options.routing_key = settings.text("routing_key");
    for (const char* name : {"exchange", "routing_key"}) {
        if (settings.text(name).size() > short_text_bytes_max)
            settings.refuse(name, fmt::format("must have at most {} bytes", short_text_bytes_max));
    }
    options.unroutable_dies = settings.text("unroutable") == "dead";
    options.connect_timeout = settings.duration("connect_timeout");
    options.confirm_timeout = settings.duration("confirm_timeout");
    options.ca_file = settings.text("ca_file");
    return options;
}

}  // namespace postroom::sink_rabbitmq
