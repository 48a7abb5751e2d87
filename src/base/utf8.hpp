// UTF-8: check, count, cut and repair. A "character" of our limits is a Unicode code point.
//
// Ill-formed input (overlong forms, surrogates, values above U+10FFFF, cut sequences) is never an
// error here except for is_valid_utf8(): each longest ill-formed piece counts as one character, the
// one U+FFFD that sanitize_utf8() writes in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace postroom::base {

// What stands at the start of a text: a character, or the longest ill-formed piece.
struct Utf8Piece {
    std::size_t length = 0;
    bool well_formed = false;
};
// `text` is not empty.
Utf8Piece next_piece(std::string_view text);

// `character` is one that is well-formed.
std::uint32_t code_point_of(std::string_view character);

// `point` is one that UTF-8 can write: at most U+10FFFF, and no half of a surrogate pair.
void append_utf8(std::string& out, std::uint32_t point);

bool is_valid_utf8(std::string_view text);

std::size_t code_point_count(std::string_view text);

// The longest prefix of at most `max_code_points` characters; never cuts through one.
std::string_view truncate_utf8(std::string_view text, std::size_t max_code_points);

// `text` if it has at most `width` characters; else so many of them that "..." fits behind them.
std::string shortened(std::string_view text, std::size_t width);

// Text that every database takes: ill-formed pieces and NUL become U+FFFD. For error texts, which
// may hold whatever bytes a handler threw.
std::string sanitize_utf8(std::string_view text);

// U+FFFD, which stands for what cannot be shown.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

}  // namespace postroom::base
