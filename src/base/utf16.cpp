#include "base/utf16.hpp"

#include <algorithm>
#include <cstdint>

#include "base/utf8.hpp"

namespace postroom::base {

namespace {

constexpr std::uint32_t first_beyond = 0x10000;
constexpr char16_t high_first = 0xD800;
constexpr char16_t low_first = 0xDC00;
constexpr char16_t low_last = 0xDFFF;

bool is_high(char16_t unit) { return unit >= high_first && unit < low_first; }
bool is_low(char16_t unit) { return unit >= low_first && unit <= low_last; }

}  // namespace

std::u16string to_utf16(std::string_view text) {
    std::u16string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Utf8Piece piece = next_piece(text);
        const std::uint32_t point =
            piece.well_formed ? code_point_of(text.substr(0, piece.length)) : std::uint32_t{0xFFFD};
        if (point < first_beyond) {
            out += static_cast<char16_t>(point);
        } else {
            out += static_cast<char16_t>(high_first + ((point - first_beyond) >> 10U));
            out += static_cast<char16_t>(low_first + ((point - first_beyond) & 0x3FFU));
        }
        text.remove_prefix(piece.length);
    }
    return out;
}

bool has_surrogates(std::u16string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char16_t unit) { return is_high(unit) || is_low(unit); });
}

std::string to_utf8(std::u16string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char16_t unit = text[i];
        if (is_high(unit) && i + 1 < text.size() && is_low(text[i + 1])) {
            ++i;
            append_utf8(out, first_beyond + ((std::uint32_t{unit} - high_first) << 10U) +
                                 (std::uint32_t{text[i]} - low_first));
        } else if (is_high(unit) || is_low(unit)) {
            out += replacement_character;
        } else {
            append_utf8(out, unit);
        }
    }
    return out;
}

}  // namespace postroom::base
