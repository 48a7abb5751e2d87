#include "observe/log_line.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/json_text.hpp"
#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace postroom {

namespace {

void append_escaped(std::string& out, std::string_view character) {
    switch (character.front()) {
        case '"':
        case '\\':
            out += '\\';
            out += character;
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            break;
    }
    const std::uint32_t code = base::code_point_of(character);
    if (base::is_deceptive(code)) {
        base::append_json_escape(out, code);
    } else {
        out += character;
    }
}

// `text` is well-formed.
std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = base::next_piece(text).length;
        append_escaped(out, text.substr(0, length));
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace

LogLine::LogLine(std::string name, std::size_t max_value_chars)
    : max_value_chars_(max_value_chars), text_(std::move(name)) {}

LogLine& LogLine::add(std::string_view key, std::string_view value) {
    const std::string_view kept = base::truncate_utf8(value, max_value_chars_);
    const std::string safe = base::sanitize_utf8(kept);
    const std::string shown = escaped(safe);
    const bool quoted =
        shown.empty() || shown != safe || shown.find_first_of(" =") != std::string::npos;

    add_key(key);
    if (quoted) text_ += '"';
    text_ += shown;
    if (kept.size() < value.size()) text_ += "...";
    if (quoted) text_ += '"';
    return *this;
}

LogLine& LogLine::add(std::string_view key, std::uint64_t value) {
    add_key(key);
    text_ += fmt::to_string(value);
    return *this;
}

LogLine& LogLine::add(std::string_view key, Duration value) {
    add_key(key);
    fmt::format_to(std::back_inserter(text_), "{:.3f}",
                   std::chrono::duration<double, std::milli>(value).count());
    return *this;
}

void LogLine::add_key(std::string_view key) {
    text_ += ' ';
    text_ += key;
    text_ += '=';
}

}  // namespace postroom
