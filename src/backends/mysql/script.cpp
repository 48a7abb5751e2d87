#include "backends/mysql/script.hpp"

namespace postroom::mysql {

namespace {

constexpr std::string_view keyword = "DELIMITER ";
constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view take_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
}

}  // namespace

std::vector<std::string> split_script(std::string_view script) {
    std::vector<std::string> out;
    std::string statement;
    std::string delimiter = ";";
    const auto finish = [&] {
        if (!trimmed(statement).empty()) out.emplace_back(trimmed(statement));
        statement.clear();
    };
    while (!script.empty()) {
        const std::string_view line = take_line(script);
        const std::string_view text = trimmed(line);
        if (text.starts_with("--") || text.empty()) continue;
        if (text.starts_with(keyword)) {
            finish();
            delimiter = trimmed(text.substr(keyword.size()));
            continue;
        }
        statement.append(line).append("\n");
        if (!text.ends_with(delimiter)) continue;
        statement.resize(statement.find_last_not_of(blanks) + 1 - delimiter.size());
        finish();
    }
    finish();
    return out;
}

}  // namespace postroom::mysql
