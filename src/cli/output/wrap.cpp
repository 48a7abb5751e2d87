#include "cli/output/wrap.hpp"

#include <algorithm>
#include <optional>

#include "base/utf8.hpp"
#include "cli/output/terminal.hpp"

namespace postroom::cli {

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
    std::string out;
    std::size_t column = indent;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
        const std::string_view word = text.substr(0, end);
        const std::size_t length = base::code_point_count(word);
        if (column > indent && column + 1 + length > width) {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        }
        if (column > indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += length;
        if (end < text.size() && text[end] == '\n') {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string fitted_to(int descriptor, std::string_view sentences) {
    const std::optional<std::size_t> width = terminal_width(descriptor);
    return width ? wrapped(sentences, 0, *width) : std::string(sentences);
}

}  // namespace postroom::cli
