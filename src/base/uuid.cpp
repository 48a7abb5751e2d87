#include "base/uuid.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

#include "base/hex.hpp"

namespace postroom {

namespace {

constexpr std::size_t canonical_length = 36;

constexpr bool dash_at(std::size_t position) {
    return position == 8 || position == 13 || position == 18 || position == 23;
}

}  // namespace

std::string Uuid::to_string() const {
    std::string text;
    text.reserve(canonical_length);
    for (const std::uint8_t byte : bytes) {
        if (dash_at(text.size())) text.push_back('-');
        base::append_hex(text, byte);
    }
    return text;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
    if (text.size() != canonical_length) return std::nullopt;
    Uuid uuid;
    std::size_t position = 0;
    for (std::uint8_t& byte : uuid.bytes) {
        if (dash_at(position) && text[position++] != '-') return std::nullopt;
        const int high = base::hex_digit_value(text[position++]);
        const int low = base::hex_digit_value(text[position++]);
        if (high < 0 || low < 0) return std::nullopt;
        byte = static_cast<std::uint8_t>(high * 16 + low);
    }
    return uuid;
}

namespace base {

namespace {

constexpr std::uint64_t low_bits(int count) { return (std::uint64_t{1} << count) - 1; }

Uuid from_words(std::uint64_t high, std::uint64_t low) {
    Uuid uuid;
    for (std::size_t i = 0; i < 8; ++i) {
        uuid.bytes[i] = static_cast<std::uint8_t>(high >> (56 - 8 * i));
        uuid.bytes[i + 8] = static_cast<std::uint8_t>(low >> (56 - 8 * i));
    }
    return uuid;
}

std::uint64_t word_at(const Uuid& uuid, std::size_t offset) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word = (word << 8) | uuid.bytes[offset + i];
    return word;
}

void stamp(Uuid& uuid, unsigned version) {
    uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0Fu) | (version << 4));
    uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3Fu) | 0x80u);
}

std::array<std::uint8_t, 20> sha1(std::string_view bytes) {
    std::array<std::uint8_t, 20> digest{};
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha1(), nullptr) != 1)
        throw std::runtime_error("uuid_v5: OpenSSL could not compute SHA-1");
    return digest;
}

}  // namespace

Uuid uuid_v4(Random& random) {
    const std::uint64_t high = random.next();
    const std::uint64_t low = random.next();
    Uuid uuid = from_words(high, low);
    stamp(uuid, 4);
    return uuid;
}

Uuid uuid_v5(const Uuid& name_space, std::string_view name) {
    std::string input(name_space.bytes.begin(), name_space.bytes.end());
    input.append(name);
    const auto digest = sha1(input);
    Uuid uuid;
    std::copy_n(digest.begin(), uuid.bytes.size(), uuid.bytes.begin());
    stamp(uuid, 5);
    return uuid;
}

std::optional<Instant> uuid_time(std::string_view text) {
    const std::optional<Uuid> uuid = Uuid::parse(text);
    if (!uuid || uuid->bytes[8] >> 6 != 2) return std::nullopt;
    const std::uint64_t high = word_at(*uuid, 0);
    const std::uint64_t version = high >> 12 & 0xF;
    if (version == 7) return Instant{std::chrono::milliseconds{high >> 16}};
    if (version != 1) return std::nullopt;
    // Tenths of microseconds since the calendar's reform in 1582, the lowest bits first.
    constexpr std::uint64_t until_1970 = 0x01B2'1DD2'1381'4000;
    const std::uint64_t ticks =
        (high & low_bits(12)) << 48 | (high >> 16 & low_bits(16)) << 32 | high >> 32;
    if (ticks < until_1970) return std::nullopt;
    return Instant{std::chrono::microseconds{(ticks - until_1970) / 10}};
}

Uuid pack_work_item(std::uint64_t seq, std::uint64_t nonce) {
    if (seq > work_item_seq_max)
        throw std::out_of_range(
            fmt::format("work item seq {} is above the limit of {}", seq, work_item_seq_max));
    const std::uint64_t custom_a = seq >> 10;
    const std::uint64_t custom_b = ((seq & low_bits(10)) << 2) | (nonce >> 62);
    Uuid uuid = from_words((custom_a << 16) | custom_b, nonce & low_bits(62));
    stamp(uuid, 8);
    return uuid;
}

std::optional<WorkItemParts> unpack_work_item(const Uuid& id) {
    if ((id.bytes[6] >> 4) != 8 || (id.bytes[8] >> 6) != 2) return std::nullopt;
    const std::uint64_t high = word_at(id, 0);
    const std::uint64_t low = word_at(id, 8);
    const std::uint64_t custom_a = high >> 16;
    const std::uint64_t custom_b = high & low_bits(12);
    return WorkItemParts{.seq = (custom_a << 10) | (custom_b >> 2),
                         .nonce = (custom_b << 62) | (low & low_bits(62))};
}

}  // namespace base

}  // namespace postroom
