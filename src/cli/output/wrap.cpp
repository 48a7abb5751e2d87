#include "cli/output/wrap.hpp"

#include <algorithm>
#include <optional>

#include "base/utf8.hpp"
#include "cli/output/terminal.hpp"

namespace postroom::cli {

namespace {

// Where the first word of a text ends. A command in quotes or brackets is one word: it is copied.
std::size_t end_of_word(std::string_view text) {
    const char closing = text.front() == '\'' ? '\'' : text.starts_with("(postroom ") ? ')' : '\0';
    const std::size_t closed = closing == '\0' ? std::string_view::npos : text.find(closing, 1);
    const std::size_t from =
        closed < std::min(text.find('\n'), text.size()) ? closed : std::size_t{0};
    return std::min(text.find_first_of(" \n", from), text.size());
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
    std::string out;
    std::size_t column = indent;
    while (!text.empty()) {
        const std::size_t end = end_of_word(text);
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
