#include "base/identifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/hex.hpp"

namespace postroom::base {

namespace {

// std::isalpha() asks the locale; SQL text must not.
constexpr bool is_letter_or_underscore(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_identifier(std::string_view value) {
    return !value.empty() && value.size() <= identifier_length_max &&
           is_letter_or_underscore(value.front()) &&
           std::all_of(value.begin(), value.end(),
                       [](char c) { return is_letter_or_underscore(c) || is_digit(c); });
}

// Fit for a log line: printable ASCII, and no longer than a name could have been.
std::string shown(std::string_view value) {
    std::string text;
    for (const char c : value.substr(0, identifier_length_max)) {
        const bool printable = c >= ' ' && c <= '~' && c != '\\' && c != '"';
        if (printable) {
            text.push_back(c);
        } else {
            text += "\\x";
            append_hex(text, static_cast<std::uint8_t>(c));
        }
    }
    if (value.size() > identifier_length_max) text += "...";
    return text;
}

}  // namespace

Identifier::Identifier(std::string_view field, std::string_view value) : value_(value) {
    if (!is_identifier(value))
        throw std::invalid_argument(fmt::format(
            "{}: \"{}\" is not a usable name: 1 to {} characters, letters A-Z a-z, digits and "
            "underscores, not starting with a digit",
            field, shown(value), identifier_length_max));
}

}  // namespace postroom::base
