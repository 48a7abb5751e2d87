// UTF-8: check, count, cut and repair. A "character" of our limits is a Unicode code point.
//
// Ill-formed input (overlong forms, surrogates, values above U+10FFFF, cut sequences) is never an
// error here except for is_valid_utf8(): each longest ill-formed piece counts as one character, the
// one U+FFFD that sanitize_utf8() writes in its place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace postroom::base {

bool is_valid_utf8(std::string_view text);

std::size_t code_point_count(std::string_view text);

// The longest prefix of at most `max_code_points` characters; never cuts through one.
std::string_view truncate_utf8(std::string_view text, std::size_t max_code_points);

// Text that every database takes: ill-formed pieces and NUL become U+FFFD. For error texts, which
// may hold whatever bytes a handler threw.
std::string sanitize_utf8(std::string_view text);

}  // namespace postroom::base
