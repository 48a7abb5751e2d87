// Breaking a text into lines between its words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace postroom::cli {

// `text` in lines that end before column `width` and begin with `indent` spaces; the first is begun
// already. A word that is longer than a line stays whole.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

// Sentences for `descriptor`: where it leads to a terminal their lines fit it, elsewhere they are
// as they were.
std::string fitted_to(int descriptor, std::string_view sentences);

}  // namespace postroom::cli
