// Hexadecimal text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postroom::base {

// Lower case, two digits a byte.
std::string hex_encode(std::string_view bytes);
std::string hex_encode(std::span<const std::uint8_t> bytes);

// Either case; nothing for an odd length or any other character.
std::optional<std::string> hex_decode(std::string_view text);

void append_hex(std::string& text, std::uint8_t byte);

// 0 to 15, or -1 for a character that is no hexadecimal digit.
constexpr int hex_digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace postroom::base
