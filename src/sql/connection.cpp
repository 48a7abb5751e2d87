#include "sql/connection.hpp"

#include <algorithm>
#include <array>

namespace postroom::sql {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Drops what may stand before a word: blanks, semicolons, comments.
void skip_to_word(std::string_view& text) {
    while (!text.empty() && !is_letter(text.front())) {
        std::size_t end = 1;
        if (text.starts_with("--")) end = text.find('\n');
        if (text.starts_with("/*")) end = text.find("*/", 2);
        text.remove_prefix(std::min(end, text.size()));
    }
}

std::string next_word(std::string_view& text) {
    skip_to_word(text);
    std::string word;
    while (!text.empty() && is_letter(text.front())) {
        word += upper(text.front());
        text.remove_prefix(1);
    }
    return word;
}

}  // namespace

Uuid Row::uuid(int column) const {
    const std::string_view bytes = blob(column);
    Uuid uuid;
    if (bytes.size() != uuid.bytes.size()) return Uuid::parse(bytes).value_or(Uuid{});
    std::transform(bytes.begin(), bytes.end(), uuid.bytes.begin(),
                   [](char byte) { return static_cast<std::uint8_t>(byte); });
    return uuid;
}

std::string first_word(std::string_view sql) { return next_word(sql); }

bool Connection::ends_transaction(std::string_view sql) const {
    constexpr std::array ends{"COMMIT", "END", "ABORT", "ROLLBACK"};
    const std::string first = next_word(sql);
    if (std::find(ends.begin(), ends.end(), first) == ends.end()) return false;
    // ROLLBACK [WORK | TRANSACTION] TO a savepoint goes on.
    std::string second = next_word(sql);
    if (second == "WORK" || second == "TRANSACTION") second = next_word(sql);
    return second != "TO" && second != "PREPARED";
}

}  // namespace postroom::sql
