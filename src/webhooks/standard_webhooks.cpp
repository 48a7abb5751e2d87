#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "base/base64.hpp"
#include "webhooks/fields.hpp"
#include "webhooks/scheme_core.hpp"

namespace postroom::webhooks {

namespace {

constexpr std::string_view id_header = "webhook-id";
constexpr std::string_view timestamp_header = "webhook-timestamp";
constexpr std::string_view signature_header = "webhook-signature";
constexpr std::string_view secret_prefix = "whsec_";
constexpr std::string_view version = "v1";
constexpr std::size_t secret_bytes_min = 24;
constexpr std::size_t secret_bytes_max = 64;

std::string decode_secret(std::string_view secret) {
    if (secret.starts_with(secret_prefix)) secret.remove_prefix(secret_prefix.size());
    std::optional<std::string> bytes = base::base64_decode(secret);
    if (!bytes) throw std::invalid_argument("webhooks: the secret is not base64");
    if (bytes->size() < secret_bytes_min || bytes->size() > secret_bytes_max)
        throw std::invalid_argument(fmt::format("webhooks: the secret has {} bytes, not {} to {}",
                                                bytes->size(), secret_bytes_min, secret_bytes_max));
    return *std::move(bytes);
}

std::string signed_content(std::string_view id, std::string_view seconds, std::string_view body) {
    std::string content;
    content.reserve(id.size() + seconds.size() + body.size() + 2);
    content.append(id).append(1, '.').append(seconds).append(1, '.').append(body);
    return content;
}

// "v1,<base64> v1,<base64> v1a,...": puts the digests of our version into `digests`.
Authenticity parse_signatures(std::string_view value, std::size_t count_max,
                              std::vector<std::string>& digests) {
    std::size_t count = 0;
    for (std::optional<std::string_view> rest = value; rest;) {
        const std::string_view element = next_element(rest, ' ');
        if (++count > count_max) return Authenticity::too_many_signatures;
        const std::size_t comma = element.find(',');
        if (comma == std::string_view::npos || !is_version(element.substr(0, comma)))
            return Authenticity::malformed;
        if (element.substr(0, comma) != version) continue;
        std::optional<std::string> digest = base::base64_decode(element.substr(comma + 1));
        if (!digest || digest->size() != base::Sha256Digest{}.size())
            return Authenticity::malformed;
        digests.push_back(*std::move(digest));
    }
    return digests.empty() ? Authenticity::unknown_version : Authenticity::ok;
}

}  // namespace

StandardWebhooks::StandardWebhooks(std::span<const Key> keys, const SchemeOptions& options)
    : Scheme(std::make_unique<Core>(keys, options, &decode_secret)) {}

StandardWebhooks::StandardWebhooks(std::initializer_list<Key> keys, const SchemeOptions& options)
    : StandardWebhooks(std::span<const Key>(keys.begin(), keys.size()), options) {}

Verification StandardWebhooks::verify(std::span<const HeaderView> headers,
                                      std::string_view body) const {
    const std::size_t bytes_max = core().options().header_bytes_max;
    const FieldResult id = find_header(headers, id_header, bytes_max);
    const FieldResult timestamp = find_header(headers, timestamp_header, bytes_max);
    const FieldResult signature = find_header(headers, signature_header, bytes_max);
    for (const FieldResult& field : {id, timestamp, signature})
        if (field.authenticity != Authenticity::ok) return {.authenticity = field.authenticity};

    const std::optional<std::chrono::sys_seconds> signed_at = parse_seconds(timestamp.value);
    if (!signed_at || !is_message_id(id.value)) return {.authenticity = Authenticity::malformed};
    std::vector<std::string> digests;
    Authenticity authenticity =
        parse_signatures(signature.value, core().options().signatures_max, digests);
    if (authenticity != Authenticity::ok) return {.authenticity = authenticity};
    authenticity = core().judge_time(*signed_at);
    if (authenticity != Authenticity::ok) return {.authenticity = authenticity};

    std::optional<std::string> key =
        core().matching_key(signed_content(id.value, timestamp.value, body), digests);
    if (!key) return {.authenticity = Authenticity::no_matching_signature};
    return {Authenticity::ok, std::string(id.value), *signed_at, *std::move(key)};
}

std::vector<Header> StandardWebhooks::sign(std::string_view message_id,
                                           std::string_view body) const {
    if (!is_message_id(message_id))
        throw std::invalid_argument(
            "webhooks: message_id must be 1 to 255 visible ASCII characters without '.'");
    const std::string seconds = seconds_text(core().now());
    std::string signatures;
    for (const base::Sha256Digest& digest :
         core().sign(signed_content(message_id, seconds, body))) {
        if (!signatures.empty()) signatures += ' ';
        signatures.append(version).append(1, ',');
        signatures +=
            base::base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
    }
    return {{std::string(id_header), std::string(message_id)},
            {std::string(timestamp_header), seconds},
            {std::string(signature_header), std::move(signatures)}};
}

}  // namespace postroom::webhooks
