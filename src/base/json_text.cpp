#include "base/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace postroom::base {

namespace {

constexpr int depth_max = 256;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The character at the start of `text`, which is not ASCII. Returns its length.
std::size_t append_beyond_ascii(std::string& out, std::string_view text) {
    const Utf8Piece piece = next_piece(text);
    const std::string_view bytes = text.substr(0, piece.length);
    if (!piece.well_formed) {
        out += replacement_character;
    } else if (const std::uint32_t code = code_point_of(bytes); is_deceptive(code)) {
        append_json_escape(out, code);
    } else {
        out += bytes;
    }
    return piece.length;
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Copies tokens from its text. Every function returns false at the first thing that is not JSON.
class Copier {
public:
    Copier(std::string_view text, std::string& out) : rest_(text), out_(out) {}

    bool document() {
        if (!value(0)) return false;
        skip_space();
        return rest_.empty();
    }

private:
    void skip_space() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    }
    void take(std::size_t length) {
        out_ += rest_.substr(0, length);
        rest_.remove_prefix(length);
    }
    bool token(char c) {
        skip_space();
        if (!rest_.starts_with(c)) return false;
        take(1);
        return true;
    }

    bool value(int depth) {
        skip_space();
        if (rest_.empty() || depth > depth_max) return false;
        switch (rest_[0]) {
            case '{':
                return members(depth, '}');
            case '[':
                return members(depth, ']');
            case '"':
                return string();
            case 't':
                return word("true");
            case 'f':
                return word("false");
            case 'n':
                return word("null");
            default:
                return number();
        }
    }

    bool members(int depth, char close) {
        take(1);
        if (token(close)) return true;
        do {
            if (close == '}') {
                skip_space();
                if (!string() || !token(':')) return false;
            }
            if (!value(depth + 1)) return false;
        } while (token(','));
        return token(close);
    }

    bool word(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        take(text.size());
        return true;
    }

    bool string() {
        if (!rest_.starts_with('"')) return false;
        take(1);
        while (!rest_.empty() && rest_[0] != '"') {
            if (!is_ascii(rest_[0])) {
                rest_.remove_prefix(append_beyond_ascii(out_, rest_));
                continue;
            }
            if (static_cast<unsigned char>(rest_[0]) < 0x20) return false;
            const std::size_t length = rest_[0] == '\\' ? escape_length() : plain_length();
            if (length == 0) return false;
            take(length);
        }
        return token('"');
    }

    // Of the ASCII characters at the start that mean themselves.
    std::size_t plain_length() const {
        const auto end = std::ranges::find_if(
            rest_, [](char c) { return !is_ascii(c) || c == '"' || c == '\\' || c < 0x20; });
        return static_cast<std::size_t>(end - rest_.begin());
    }

    // Of the escape at the start, or of two that are one character; 0 when it is none, or half of
    // such a pair, which is no character.
    std::size_t escape_length() const {
        if (rest_.size() < 2) return 0;
        if (rest_[1] != 'u')
            return std::string_view("\"\\/bfnrt").find(rest_[1]) == std::string_view::npos ? 0 : 2;
        const std::optional<unsigned> unit = unit_at(0);
        if (!unit || (*unit >= 0xdc00 && *unit <= 0xdfff)) return 0;
        if (*unit < 0xd800 || *unit > 0xdbff) return 6;
        const std::optional<unsigned> second = unit_at(6);
        return second && *second >= 0xdc00 && *second <= 0xdfff ? 12 : 0;
    }

    // What \uXXXX at `at` says.
    std::optional<unsigned> unit_at(std::size_t at) const {
        if (at > rest_.size() || !rest_.substr(at).starts_with("\\u")) return std::nullopt;
        const std::string_view digits = rest_.substr(at + 2, 4);
        if (digits.size() < 4 || !std::ranges::all_of(digits, is_hex)) return std::nullopt;
        unsigned unit = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
        return unit;
    }

    std::size_t digits_at(std::size_t at) const {
        std::size_t end = at;
        while (end < rest_.size() && is_decimal(rest_[end])) ++end;
        return end - at;
    }

    bool number() {
        std::size_t at = rest_.starts_with('-') ? 1 : 0;
        const std::size_t whole = digits_at(at);
        if (whole == 0 || (whole > 1 && rest_[at] == '0')) return false;
        at += whole;
        if (at < rest_.size() && rest_[at] == '.') {
            const std::size_t fraction = digits_at(at + 1);
            if (fraction == 0) return false;
            at += 1 + fraction;
        }
        if (at < rest_.size() && (rest_[at] == 'e' || rest_[at] == 'E')) {
            ++at;
            if (at < rest_.size() && (rest_[at] == '+' || rest_[at] == '-')) ++at;
            const std::size_t exponent = digits_at(at);
            if (exponent == 0) return false;
            at += exponent;
        }
        take(at);
        return true;
    }

    std::string_view rest_;
    std::string& out_;
};

}  // namespace

void append_json_escape(std::string& out, std::uint32_t code_point) {
    if (code_point > 0xffff) {
        append_json_escape(out, 0xd800 + ((code_point - 0x10000) >> 10U));
        code_point = 0xdc00 + ((code_point - 0x10000) & 0x3ffU);
    }
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
        out += "0123456789abcdef"[(code_point >> static_cast<unsigned>(shift)) & 0xfU];
}

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const char c = text[0];
        std::size_t length = 1;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (!is_ascii(c)) {
            length = append_beyond_ascii(out, text);
        } else if (c < 0x20 || c == 0x7f) {
            append_json_escape(out, static_cast<unsigned char>(c));
        } else {
            out += c;
        }
        text.remove_prefix(length);
    }
    out += '"';
}

std::optional<std::string> compact_json(std::string_view json) {
    if (!is_valid_utf8(json)) return std::nullopt;
    std::string out;
    out.reserve(json.size());
    if (!Copier(json, out).document()) return std::nullopt;
    return out;
}

}  // namespace postroom::base
