#include "base/json_map.hpp"

#include <cstdint>

#include "base/json_text.hpp"
#include "base/utf8.hpp"

namespace postroom::base {

namespace {

constexpr int nesting_max = 64;

// A cursor over JSON text. Every function returns false at the first thing that is not JSON.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool object(std::map<std::string, std::string>& out) {
        if (!token('{')) return false;
        if (token('}')) return at_end();
        do {
            std::string key;
            std::string value;
            skip_space();
            if (!string(key) || !token(':') || !value_text(value)) return false;
            out.insert_or_assign(std::move(key), std::move(value));
        } while (token(','));
        return token('}') && at_end();
    }

    bool array(std::vector<std::string>& out) {
        if (!token('[')) return false;
        if (token(']')) return at_end();
        do {
            if (!value_text(out.emplace_back())) return false;
        } while (token(','));
        return token(']') && at_end();
    }

private:
    void skip_space() {
        while (!rest_.empty() &&
               std::string_view(" \t\r\n").find(rest_[0]) != std::string_view::npos) {
            rest_.remove_prefix(1);
        }
    }
    bool token(char c) {
        skip_space();
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool at_end() {
        skip_space();
        return rest_.empty();
    }

    bool value_text(std::string& out) {
        skip_space();
        if (rest_.starts_with('"')) return string(out);
        const std::string_view before = rest_;
        if (!skip_value(0)) return false;
        out = before.substr(0, before.size() - rest_.size());
        if (out == "null") out.clear();
        return true;
    }

    bool string(std::string& out) {
        if (!rest_.starts_with('"')) return false;
        rest_.remove_prefix(1);
        while (!rest_.empty() && rest_[0] != '"') {
            if (rest_[0] == '\\') {
                if (!escape(out)) return false;
            } else {
                out += rest_[0];
                rest_.remove_prefix(1);
            }
        }
        if (rest_.empty()) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool escape(std::string& out) {
        if (rest_.size() < 2) return false;
        static constexpr std::string_view names = "\"\\/bfnrt";
        static constexpr std::string_view values = "\"\\/\b\f\n\r\t";
        const char kind = rest_[1];
        rest_.remove_prefix(2);
        if (kind == 'u') return unicode(out);
        const std::size_t at = names.find(kind);
        if (at == std::string_view::npos) return false;
        out += values[at];
        return true;
    }

    bool unicode(std::string& out) {
        std::uint32_t point = 0;
        if (!hex4(point)) return false;
        if (point >= 0xD800 && point < 0xDC00) {
            std::uint32_t low = 0;
            const std::string_view behind = rest_;
            if (rest_.starts_with("\\u")) {
                rest_.remove_prefix(2);
                if (!hex4(low)) return false;
            }
            if (low >= 0xDC00 && low <= 0xDFFF) {
                point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            } else {
                rest_ = behind;
            }
        }
        // Half of a pair is no character.
        const bool is_half = point >= 0xD800 && point <= 0xDFFF;
        append_utf8(out, is_half ? 0xFFFD : point);
        return true;
    }

    bool hex4(std::uint32_t& out) {
        if (rest_.size() < 4) return false;
        for (int i = 0; i < 4; ++i) {
            static constexpr std::string_view digits = "0123456789abcdef";
            const char c = rest_[static_cast<std::size_t>(i)];
            const std::size_t digit =
                digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
            if (digit == std::string_view::npos) return false;
            out = out * 16 + static_cast<std::uint32_t>(digit);
        }
        rest_.remove_prefix(4);
        return true;
    }

    // Walks over a value that is kept as text.
    bool skip_value(int depth) {
        skip_space();
        if (rest_.empty() || depth > nesting_max) return false;
        if (rest_[0] == '"') {
            std::string ignored;
            return string(ignored);
        }
        if (rest_[0] == '{' || rest_[0] == '[') return skip_nested(depth);
        const std::size_t end = rest_.find_first_of(",}] \t\r\n");
        if (end == 0) return false;
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
        return true;
    }

    bool skip_nested(int depth) {
        const char close = rest_[0] == '{' ? '}' : ']';
        const bool keyed = close == '}';
        rest_.remove_prefix(1);
        if (token(close)) return true;
        do {
            std::string key;
            skip_space();
            if (keyed && (!string(key) || !token(':'))) return false;
            if (!skip_value(depth + 1)) return false;
        } while (token(','));
        return token(close);
    }

    std::string_view rest_;
};

}  // namespace

std::string to_json(const std::map<std::string, std::string>& map) {
    std::string out = "{";
    for (const auto& [key, value] : map) {
        if (out.size() > 1) out += ',';
        append_json_string(out, key);
        out += ':';
        append_json_string(out, value);
    }
    return out + "}";
}

std::optional<std::map<std::string, std::string>> map_from_json(std::string_view json) {
    std::map<std::string, std::string> out;
    if (!Reader(json).object(out)) return std::nullopt;
    return out;
}

std::optional<std::vector<std::string>> array_from_json(std::string_view json) {
    std::vector<std::string> out;
    if (!Reader(json).array(out)) return std::nullopt;
    return out;
}

}  // namespace postroom::base
