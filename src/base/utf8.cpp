#include "base/utf8.hpp"

namespace postroom::base {

namespace {

struct ByteRange {
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
};

// How a sequence with this first byte goes on (Unicode table 3-7). Only the second byte has a range
// narrower than 80..BF; that is what shuts out overlong forms, surrogates and values above
// U+10FFFF.
struct Continuation {
    std::size_t count = 0;
    ByteRange second{};
};

constexpr unsigned char byte_at(std::string_view text, std::size_t i) {
    return static_cast<unsigned char>(text[i]);
}

constexpr Continuation continuation_of(unsigned char first) {
    if (first >= 0xC2 && first <= 0xDF) return {1, {}};
    if (first == 0xE0) return {2, {0xA0, 0xBF}};
    if (first == 0xED) return {2, {0x80, 0x9F}};
    if (first >= 0xE1 && first <= 0xEF) return {2, {}};
    if (first == 0xF0) return {3, {0x90, 0xBF}};
    if (first >= 0xF1 && first <= 0xF3) return {3, {}};
    if (first == 0xF4) return {3, {0x80, 0x8F}};
    return {};
}

}  // namespace

Utf8Piece next_piece(std::string_view text) {
    const unsigned char first = byte_at(text, 0);
    if (first < 0x80) return {1, true};
    const Continuation continuation = continuation_of(first);
    if (continuation.count == 0) return {1, false};
    ByteRange range = continuation.second;
    std::size_t length = 1;
    for (; length <= continuation.count; ++length) {
        if (length == text.size()) return {length, false};
        const unsigned char byte = byte_at(text, length);
        if (byte < range.low || byte > range.high) return {length, false};
        range = {};
    }
    return {length, true};
}

std::uint32_t code_point_of(std::string_view character) {
    const unsigned char first = byte_at(character, 0);
    if (character.size() == 1) return first;
    std::uint32_t code = first & (0x7fU >> character.size());
    for (const char c : character.substr(1))
        code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
    return code;
}

bool is_valid_utf8(std::string_view text) {
    while (!text.empty()) {
        const Utf8Piece piece = next_piece(text);
        if (!piece.well_formed) return false;
        text.remove_prefix(piece.length);
    }
    return true;
}

std::size_t code_point_count(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); ++count) text.remove_prefix(next_piece(text).length);
    return count;
}

void append_utf8(std::string& out, std::uint32_t point) {
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (point < 0x80) {
        put(point);
        return;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static constexpr std::uint32_t first[] = {0, 0xC0, 0xE0, 0xF0};
    put(first[more] | (point >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) put(0x80 | ((point >> (6 * i)) & 0x3F));
}

std::string_view truncate_utf8(std::string_view text, std::size_t max_code_points) {
    std::size_t length = 0;
    for (std::size_t count = 0; count < max_code_points && length < text.size(); ++count)
        length += next_piece(text.substr(length)).length;
    return text.substr(0, length);
}

std::string shortened(std::string_view text, std::size_t width) {
    if (code_point_count(text) <= width) return std::string(text);
    return std::string(truncate_utf8(text, width < 3 ? 0 : width - 3)) + "...";
}

std::string sanitize_utf8(std::string_view text) {
    std::string clean;
    clean.reserve(text.size());
    while (!text.empty()) {
        const Utf8Piece piece = next_piece(text);
        const bool keep = piece.well_formed && text.front() != '\0';
        clean.append(keep ? text.substr(0, piece.length) : replacement_character);
        text.remove_prefix(piece.length);
    }
    return clean;
}

}  // namespace postroom::base
