#include "base/base64.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace postroom::base {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t not_a_digit = 0xFF;

constexpr std::array<std::uint8_t, 256> digit_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(not_a_digit);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
    return values;
}();

std::uint32_t octet_at(std::string_view bytes, std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
}

std::size_t padding_of(std::string_view text) {
    if (text.ends_with("==")) return 2;
    return text.ends_with('=') ? 1 : 0;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::uint32_t group =
            octet_at(bytes, i) << 16 | octet_at(bytes, i + 1) << 8 | octet_at(bytes, i + 2);
        const std::size_t digits = std::min<std::size_t>(3, bytes.size() - i) + 1;
        for (std::size_t d = 0; d < 4; ++d)
            text.push_back(d < digits ? alphabet[(group >> (18 - 6 * d)) & 0x3Fu] : '=');
    }
    return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    text.remove_suffix(padding_of(text));

    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t pending = 0;
    unsigned pending_bits = 0;
    for (const char c : text) {
        const std::uint8_t value = digit_values[static_cast<unsigned char>(c)];
        if (value == not_a_digit) return std::nullopt;
        pending = (pending << 6) | value;
        pending_bits += 6;
        if (pending_bits >= 8) {
            pending_bits -= 8;
            bytes.push_back(static_cast<char>(pending >> pending_bits));
            pending &= (1u << pending_bits) - 1;
        }
    }
    if (pending != 0) return std::nullopt;
    return bytes;
}

}  // namespace postroom::base
