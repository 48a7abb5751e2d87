#include "base/json_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace postroom::base {

namespace {

constexpr int depth_max = 256;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

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
        std::size_t at = 1;
        while (at < rest_.size() && rest_[at] != '"') {
            if (static_cast<unsigned char>(rest_[at]) < 0x20) return false;
            const std::size_t length = rest_[at] == '\\' ? escape_length(at) : 1;
            if (length == 0) return false;
            at += length;
        }
        if (at >= rest_.size()) return false;
        take(at + 1);
        return true;
    }

    // Of the escape at `at`; 0 when it is none.
    std::size_t escape_length(std::size_t at) const {
        if (at + 1 >= rest_.size()) return 0;
        if (rest_[at + 1] != 'u')
            return std::string_view("\"\\/bfnrt").find(rest_[at + 1]) == std::string_view::npos ? 0
                                                                                                : 2;
        const std::string_view digits = rest_.substr(at + 2, 4);
        return digits.size() == 4 && std::ranges::all_of(digits, is_hex) ? 6 : 0;
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

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
            out += c;
        }
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
