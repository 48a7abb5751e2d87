#include "base/json_fields.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>

#include "base/utf8.hpp"

namespace postroom::base {

namespace {

constexpr int fields_nesting_max = 200;

// A cursor over the text; throws where it is not JSON.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {
        if (!is_valid_utf8(text)) throw std::invalid_argument("not UTF-8");
    }

    std::vector<JsonField> object() {
        std::vector<JsonField> fields;
        skip_space();
        expect('{');
        if (!accept('}')) {
            do {
                fields.push_back(field());
            } while (accept(','));
            expect('}');
        }
        end();
        return fields;
    }

    // Calls `take` at each element of an array, to read it.
    template <class F>
    void array(F take) {
        expect('[');
        if (!accept(']')) {
            do {
                skip_space();
                take();
            } while (accept(','));
            expect(']');
        }
        end();
    }

    std::vector<std::string> strings() {
        std::vector<std::string> out;
        array([&] { out.push_back(string()); });
        return out;
    }

    std::vector<std::string> elements() {
        std::vector<std::string> out;
        array([&] {
            const std::size_t begin = at_;
            value(0);
            out.emplace_back(text_.substr(begin, at_ - begin));
        });
        return out;
    }

private:
    [[noreturn]] void refuse(std::string_view expected) const {
        throw std::invalid_argument(
            fmt::format("not JSON at character {}: {} expected", at_ + 1, expected));
    }

    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos)
            ++at_;
    }
    bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
    bool accept(char c) {
        skip_space();
        if (!next_is(c)) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) refuse(fmt::format("'{}'", c));
    }
    void end() {
        skip_space();
        if (at_ != text_.size()) refuse("the end");
    }

    JsonField field() {
        JsonField field;
        skip_space();
        field.key = string();
        expect(':');
        skip_space();
        const std::size_t begin = at_;
        field.kind = value(0);
        field.json = text_.substr(begin, at_ - begin);
        field.text = field.json;
        if (field.kind == JsonKind::string) {
            at_ = begin;
            field.text = string();
        }
        return field;
    }

    JsonKind value(int depth) {
        skip_space();
        if (depth > fields_nesting_max) refuse("less nesting");
        if (next_is('"')) {
            string();
            return JsonKind::string;
        }
        if (next_is('{') || next_is('[')) return nested(depth);
        for (const auto& [word, kind] : {std::pair{std::string_view("true"), JsonKind::boolean},
                                         std::pair{std::string_view("false"), JsonKind::boolean},
                                         std::pair{std::string_view("null"), JsonKind::null}}) {
            if (!text_.substr(at_).starts_with(word)) continue;
            at_ += word.size();
            return kind;
        }
        number();
        return JsonKind::number;
    }

    JsonKind nested(int depth) {
        const bool keyed = text_[at_] == '{';
        const char close = keyed ? '}' : ']';
        ++at_;
        if (!accept(close)) {
            do {
                if (keyed) {
                    skip_space();
                    string();
                    expect(':');
                }
                value(depth + 1);
            } while (accept(','));
            expect(close);
        }
        return keyed ? JsonKind::object : JsonKind::array;
    }

    void digits() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
        if (at_ == begin) refuse("a value");
    }

    void number() {
        if (next_is('-')) ++at_;
        if (next_is('0')) {
            ++at_;
        } else {
            digits();
        }
        if (next_is('.')) {
            ++at_;
            digits();
        }
        if (next_is('e') || next_is('E')) {
            ++at_;
            if (next_is('+') || next_is('-')) ++at_;
            digits();
        }
    }

    std::string string() {
        if (!next_is('"')) refuse("'\"'");
        ++at_;
        std::string out;
        while (!next_is('"')) {
            if (at_ == text_.size()) refuse("'\"'");
            const char c = text_[at_++];
            if (static_cast<unsigned char>(c) < 0x20) refuse("an escaped character");
            if (c == '\\') {
                escape(out);
            } else {
                out += c;
            }
        }
        ++at_;
        return out;
    }

    void escape(std::string& out) {
        static constexpr std::string_view names = "\"\\/bfnrt";
        static constexpr std::string_view values = "\"\\/\b\f\n\r\t";
        if (next_is('u')) {
            ++at_;
            return unicode(out);
        }
        const std::size_t which = at_ < text_.size() ? names.find(text_[at_]) : names.npos;
        if (which == names.npos) refuse("an escape");
        out += values[which];
        ++at_;
    }

    void unicode(std::string& out) {
        std::uint32_t point = hex4();
        if (point >= 0xDC00 && point < 0xE000) refuse("a whole surrogate pair");
        if (point >= 0xD800 && point < 0xDC00) {
            if (text_.substr(at_, 2) != "\\u") refuse("a whole surrogate pair");
            at_ += 2;
            const std::uint32_t low = hex4();
            if (low < 0xDC00 || low > 0xDFFF) refuse("a whole surrogate pair");
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        }
        append_utf8(out, point);
    }

    std::uint32_t hex4() {
        std::uint32_t out = 0;
        for (int i = 0; i < 4; ++i, ++at_) {
            static constexpr std::string_view digits = "0123456789abcdefABCDEF";
            const std::size_t digit = at_ < text_.size() ? digits.find(text_[at_]) : digits.npos;
            if (digit == digits.npos) refuse("four hexadecimal digits");
            out = out * 16 + static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
        }
        return out;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<JsonField> json_fields(std::string_view text) { return Scanner(text).object(); }

std::vector<std::string> json_elements(std::string_view text) { return Scanner(text).elements(); }

std::vector<std::string> json_strings(std::string_view text) { return Scanner(text).strings(); }

}  // namespace postroom::base
