#include "sinks/http/options.hpp"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/loopback.hpp"
#include "sinks/http/header_names.hpp"
#include "sinks/http/visible.hpp"

namespace postroom::sink_http {

namespace {

using CurlUrl = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
    const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
    return text;
}

// The host without the brackets of an IPv6 address.
std::string bare(std::string host) {
    if (host.starts_with('[') && host.ends_with(']')) return host.substr(1, host.size() - 2);
    return host;
}

void read_url(const SinkSettings& settings, HttpOptions& options) {
    const CurlUrl url(curl_url(), &curl_url_cleanup);
    options.url = settings.text("url");
    if (!is_visible_ascii(options.url) ||
        curl_url_set(url.get(), CURLUPART_URL, options.url.c_str(), 0) != CURLUE_OK)
        settings.refuse("url", "must be a URL, such as https://example.com/hook");
    const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
    if (scheme != "http" && scheme != "https")
        settings.refuse("url", "must begin with https:// or http://");
    if (!part_of(url.get(), CURLUPART_USER).empty() ||
        !part_of(url.get(), CURLUPART_PASSWORD).empty())
        settings.refuse("url", "must not hold a user name or password; use 'authorization'");
    // libcurl has turned decimal, octal and hexadecimal spellings of an address into the usual one.
    const std::string host = part_of(url.get(), CURLUPART_HOST);
    const std::optional<Address> address = address_from(bare(host));
    if (address && !AddressGuard(options.allowed_networks).allows(*address))
        settings.refuse("url", fmt::format("names {}, which is not a public address; put it into "
                                           "'allow_networks' if that is meant",
                                           to_string(*address)));
    if (scheme == "http" && !base::is_loopback(host) && !settings.flag("allow_plaintext"))
        settings.refuse("url",
                        "must begin with https:// when the host is not this machine; "
                        "'allow_plaintext' lets messages and credentials go unprotected");
    options.origin = fmt::format("{}://{}:{}", scheme, host,
                                 part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

void read_proxy(const SinkSettings& settings, HttpOptions& options) {
    options.proxy = settings.text("proxy");
    if (options.proxy.empty()) return;
    const CurlUrl url(curl_url(), &curl_url_cleanup);
    const bool is_url =
        is_visible_ascii(options.proxy) &&
        curl_url_set(url.get(), CURLUPART_URL, options.proxy.c_str(), 0) == CURLUE_OK;
    const std::string scheme = is_url ? part_of(url.get(), CURLUPART_SCHEME) : "";
    if (scheme != "http" && scheme != "https")
        settings.refuse("proxy", "must be a URL, such as http://proxy.example:3128");
}

// One "Name: value" a line.
void read_headers(const SinkSettings& settings, HttpOptions& options) {
    std::istringstream lines(settings.text("headers"));
    for (std::string line; std::getline(lines, line);) {
        const std::string_view trimmed = without_spaces(line);
        if (trimmed.empty()) continue;
        const std::size_t colon = trimmed.find(':');
        const std::string_view name = trimmed.substr(0, colon);
        const std::string_view value =
            colon == std::string_view::npos ? "" : without_spaces(trimmed.substr(colon + 1));
        if (!is_token(name) || value.empty() || !is_header_value(value))
            settings.refuse("headers", "must have lines such as 'X-Api-Key: value', in ASCII");
        if (is_reserved(name))
            settings.refuse("headers", fmt::format("cannot set {}, which the sink sets", name));
        options.headers.push_back({.name = std::string(name), .value = std::string(value)});
    }
}

void read_certificate(const SinkSettings& settings, HttpOptions& options) {
    options.certificate_file = settings.text("client_certificate");
    options.key_file = settings.text("client_key");
    if (options.certificate_file.empty() && !options.key_file.empty())
        settings.refuse("client_key", "must have its 'client_certificate'");
    if (options.key_file.empty()) options.key_file = options.certificate_file;
    for (const auto& [name, path] : {std::pair{"client_certificate", options.certificate_file},
                                     std::pair{"client_key", options.key_file}}) {
        if (!path.empty() && ::access(path.c_str(), R_OK) != 0)
            settings.refuse(name, "must name a file that can be read");
    }
}

void read_networks(const SinkSettings& settings, HttpOptions& options) {
    for (const std::string& word : settings.list("allow_networks")) {
        const std::optional<Network> network = Network::parse(word);
        if (!network)
            settings.refuse("allow_networks",
                            fmt::format("holds '{}', which is neither an address nor a network "
                                        "such as 10.0.0.0/8",
                                        word));
        options.allowed_networks.push_back(*network);
    }
}

Format format_from(const std::string& text) {
    if (text == "plain") return Format::plain;
    return text == "structured" ? Format::structured : Format::binary;
}

}  // namespace

std::vector<SinkSetting> described_settings() {
    return {
        {.name = "url",
         .what = "Where messages are posted to: https://, or http:// on this machine.",
         .kind = SettingKind::url,
         .required = true},
        {.name = "format",
         .what = "CloudEvents in binary or structured mode, or the plain payload.",
         .kind = SettingKind::choice,
         .default_value = "binary",
         .choices = {"binary", "structured", "plain"}},
        {.name = "source",
         .what = "The source attribute of CloudEvents: a URI reference that names the sender.",
         .default_value = "/postroom"},
        {.name = "signing_keys",
         .what = "Standard Webhooks secrets (whsec_...). Every request is signed with each of "
                 "them, so keys are changed by sending with the old and the new one for a while.",
         .kind = SettingKind::list,
         .secret = true},
        {.name = "authorization",
         .what = "The value of the Authorization header, such as Bearer and a token.",
         .secret = true},
        {.name = "headers",
         .what = "Headers of every request, one 'Name: value' a line.",
         .secret = true},
        {.name = "timeout",
         .what = "For one request, until its answer.",
         .kind = SettingKind::duration,
         .default_value = "20s",
         .least = 10,
         .most = 600'000},
        {.name = "connect_timeout",
         .what = "For connecting, TLS included.",
         .kind = SettingKind::duration,
         .default_value = "5s",
         .least = 10,
         .most = 600'000},
        {.name = "retry_after_max",
         .what = "The longest wait that a Retry-After header can ask for.",
         .kind = SettingKind::duration,
         .default_value = "1h",
         .least = 1000,
         .most = 604'800'000},
        {.name = "concurrency",
         .what = "Requests of one batch under way at the same time.",
         .kind = SettingKind::count,
         .default_value = "16",
         .least = 1,
         .most = 256},
        {.name = "unanswered_max",
         .what = "How many times in a row a message may remain unanswered, while no other message "
                 "shows that the destination works, until that costs it attempts.",
         .kind = SettingKind::count,
         .default_value = "20",
         .least = 1,
         .most = 1'000'000},
        {.name = "ca_file",
         .what = "Certificates to trust instead of the system's, in PEM.",
         .kind = SettingKind::path},
        {.name = "client_certificate",
         .what = "Our own certificate for servers that ask for one (mTLS), in PEM.",
         .kind = SettingKind::path},
        {.name = "client_key",
         .what = "The key of client_certificate, in PEM; empty: it stands in the same file.",
         .kind = SettingKind::path},
        {.name = "proxy",
         .what = "A proxy to send through, such as http://proxy.example:3128. Its own address must "
                 "be public or in allow_networks; where it connects to is its own choice.",
         .kind = SettingKind::url},
        {.name = "excerpt_bytes_max",
         .what = "How much of an answer that is not 2xx is told in the error; 0: nothing.",
         .kind = SettingKind::count,
         .default_value = "500",
         .most = 4000},
        {.name = "allow_plaintext",
         .what = "Whether http:// may be used to another machine.",
         .kind = SettingKind::flag,
         .default_value = "false"},
        {.name = "allow_networks",
         .what = "Addresses and networks that are not public and may be sent to all the same, "
                 "such as 127.0.0.1 or 10.0.0.0/8.",
         .kind = SettingKind::list},
    };
}

HttpOptions read_options(const SinkSettings& settings) {
    HttpOptions options;
    read_networks(settings, options);
    read_url(settings, options);
    options.format = format_from(settings.text("format"));
    options.source = settings.text("source");
    if (options.source.empty() || !is_visible_ascii(options.source))
        settings.refuse("source", "must be a URI reference: visible ASCII characters only");
    options.signing_keys = settings.list("signing_keys");
    options.authorization = settings.text("authorization");
    if (!is_header_value(options.authorization))
        settings.refuse("authorization", "must hold visible ASCII characters and spaces only");
    options.timeout = settings.duration("timeout");
    options.connect_timeout = settings.duration("connect_timeout");
    options.retry_after_max = settings.duration("retry_after_max");
    options.concurrency = static_cast<std::size_t>(settings.count("concurrency"));
    options.unanswered_max = settings.count("unanswered_max");
    options.ca_file = settings.text("ca_file");
    options.excerpt_bytes_max = settings.count("excerpt_bytes_max");
    read_headers(settings, options);
    read_certificate(settings, options);
    read_proxy(settings, options);
    return options;
}

}  // namespace postroom::sink_http
