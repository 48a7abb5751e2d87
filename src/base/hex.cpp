#include "base/hex.hpp"

namespace postroom::base {

void append_hex(std::string& text, std::uint8_t byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 0x0Fu]);
}

std::string hex_encode(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char c : bytes) append_hex(text, static_cast<std::uint8_t>(c));
    return text;
}

std::string hex_encode(std::span<const std::uint8_t> bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::uint8_t byte : bytes) append_hex(text, byte);
    return text;
}

std::optional<std::string> hex_decode(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_digit_value(text[i]);
        const int low = hex_digit_value(text[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(high * 16 + low));
    }
    return bytes;
}

}  // namespace postroom::base
