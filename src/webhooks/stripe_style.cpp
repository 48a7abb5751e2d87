#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/hex.hpp"
#include "webhooks/fields.hpp"
#include "webhooks/scheme_core.hpp"

namespace postroom::webhooks {

namespace {

constexpr std::string_view time_name = "t";
constexpr std::string_view scheme = "v1";
constexpr std::size_t secret_chars_min = 16;
constexpr std::size_t secret_chars_max = 512;

std::string check_secret(std::string_view secret) {
    if (secret.size() < secret_chars_min || secret.size() > secret_chars_max)
        throw std::invalid_argument(
            fmt::format("webhooks: the secret has {} characters, not {} to {}", secret.size(),
                        secret_chars_min, secret_chars_max));
    return std::string(secret);
}

std::string signed_content(std::string_view seconds, std::string_view body) {
    std::string content;
    content.reserve(seconds.size() + body.size() + 1);
    content.append(seconds).append(1, '.').append(body);
    return content;
}

// Lower case only, so that a digest has one spelling.
std::optional<std::string> decode_digest(std::string_view text) {
    if (text.size() != 2 * base::Sha256Digest{}.size()) return std::nullopt;
    if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; }))
        return std::nullopt;
    return base::hex_decode(text);
}

struct ParsedHeader {
    std::string_view seconds{};
    std::optional<std::chrono::sys_seconds> signed_at{};
    std::vector<std::string> digests{};
    std::size_t signatures = 0;
};

Authenticity parse_element(std::string_view element, std::size_t count_max, ParsedHeader& header) {
    const std::size_t equals = element.find('=');
    if (equals == std::string_view::npos) return Authenticity::malformed;
    const std::string_view name = element.substr(0, equals);
    const std::string_view value = element.substr(equals + 1);
    if (!is_version(name)) return Authenticity::malformed;
    if (name == time_name) {
        if (header.signed_at) return Authenticity::malformed;
        header.seconds = value;
        header.signed_at = parse_seconds(value);
        return header.signed_at ? Authenticity::ok : Authenticity::malformed;
    }
    if (++header.signatures > count_max) return Authenticity::too_many_signatures;
    if (name != scheme) return Authenticity::ok;
    std::optional<std::string> digest = decode_digest(value);
    if (!digest) return Authenticity::malformed;
    header.digests.push_back(*std::move(digest));
    return Authenticity::ok;
}

Authenticity parse_header(std::string_view value, std::size_t count_max, ParsedHeader& header) {
    for (std::optional<std::string_view> rest = value; rest;) {
        const Authenticity authenticity = parse_element(next_element(rest, ','), count_max, header);
        if (authenticity != Authenticity::ok) return authenticity;
    }
    if (!header.signed_at) return Authenticity::malformed;
    return header.digests.empty() ? Authenticity::unknown_version : Authenticity::ok;
}

}  // namespace

StripeStyle::StripeStyle(std::span<const Key> keys, const SchemeOptions& options,
                         std::string_view header_name)
    : Scheme(std::make_unique<Core>(keys, options, &check_secret)), header_name_(header_name) {
    if (header_name_.empty()) throw std::invalid_argument("webhooks: the header needs a name");
}

StripeStyle::StripeStyle(std::initializer_list<Key> keys, const SchemeOptions& options,
                         std::string_view header_name)
    : StripeStyle(std::span<const Key>(keys.begin(), keys.size()), options, header_name) {}

Verification StripeStyle::verify(std::span<const HeaderView> headers, std::string_view body) const {
    const SchemeOptions& options = core().options();
    const FieldResult field = find_header(headers, header_name_, options.header_bytes_max);
    if (field.authenticity != Authenticity::ok) return {.authenticity = field.authenticity};
    ParsedHeader header;
    Authenticity authenticity = parse_header(field.value, options.signatures_max, header);
    if (authenticity != Authenticity::ok) return {.authenticity = authenticity};
    authenticity = core().judge_time(*header.signed_at);
    if (authenticity != Authenticity::ok) return {.authenticity = authenticity};

    std::optional<std::string> key =
        core().matching_key(signed_content(header.seconds, body), header.digests);
    if (!key) return {.authenticity = Authenticity::no_matching_signature};
    return {Authenticity::ok, {}, *header.signed_at, *std::move(key)};
}

Header StripeStyle::sign(std::string_view body) const {
    const std::string seconds = seconds_text(core().now());
    std::string value = fmt::format("{}={}", time_name, seconds);
    for (const base::Sha256Digest& digest : core().sign(signed_content(seconds, body)))
        value += fmt::format(",{}={}", scheme, base::hex_encode(digest));
    return {header_name_, std::move(value)};
}

}  // namespace postroom::webhooks
