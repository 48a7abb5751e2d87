#include "cli/config/key_depth.hpp"

#include <algorithm>
#include <string>

namespace postroom::cli {

namespace {

// Walks over a text and counts the dots that can separate the parts of a key: those outside of
// strings and comments.
class DotCounter {
public:
    explicit DotCounter(std::string_view text) : rest_(text) {}

    std::optional<std::size_t> line_of_endless_key() {
        while (!rest_.empty()) {
            step();
            if (dots_ >= key_parts_max) return line_;
        }
        return std::nullopt;
    }

private:
    void step() {
        switch (rest_[0]) {
            case '"':
            case '\'':
                return skip_string(rest_[0]);
            case '#':
                return skip(std::min(rest_.find('\n'), rest_.size()));
            case '.':
                ++dots_;
                break;
            case '\n':
            case '=':
            case ',':
            case '[':
            case '{':
                dots_ = 0;
                break;
            default:
                break;
        }
        skip(1);
    }

    void skip(std::size_t length) {
        line_ += static_cast<std::size_t>(std::ranges::count(rest_.substr(0, length), '\n'));
        rest_.remove_prefix(length);
    }

    // Over one of a line, or over one of several lines, which three quotes enclose.
    void skip_string(char quote) {
        const std::string three(3, quote);
        const bool is_long = rest_.starts_with(three);
        const std::string_view end = is_long ? std::string_view(three) : rest_.substr(0, 1);
        std::size_t at = end.size();
        while (at < rest_.size() && !rest_.substr(at).starts_with(end)) {
            if (!is_long && rest_[at] == '\n') return skip(at);  // it is not closed
            at += quote == '"' && rest_[at] == '\\' ? 2 : 1;
        }
        skip(std::min(at + end.size(), rest_.size()));
    }

    std::string_view rest_;
    std::size_t line_ = 1;
    std::size_t dots_ = 0;
};

}  // namespace

std::optional<std::size_t> line_of_endless_key(std::string_view toml) {
    return DotCounter(toml).line_of_endless_key();
}

}  // namespace postroom::cli
