#include "base/printable.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace postroom::base {

namespace {

struct CodeRange {
    std::uint32_t first;
    std::uint32_t last;
};

constexpr CodeRange deceptive_ranges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},
                                          {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                                          {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

}  // namespace

bool is_deceptive(std::uint32_t code_point) {
    return std::ranges::any_of(deceptive_ranges, [code_point](const CodeRange& range) {
        return code_point >= range.first && code_point <= range.last;
    });
}

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const Utf8Piece piece = next_piece(text);
        const std::string_view bytes = text.substr(0, piece.length);
        if (!piece.well_formed || bytes[0] == '\0') {
            out += replacement_character;
        } else if (is_deceptive(code_point_of(bytes))) {
            for (const char byte : bytes)
                fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                               static_cast<unsigned char>(byte));
        } else {
            out += bytes;
        }
        text.remove_prefix(piece.length);
    }
    return out;
}

}  // namespace postroom::base
