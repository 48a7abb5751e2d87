#include "sql/statement.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace postroom::sql {

namespace {

bool starts_name(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool continues_name(char c) {
    return starts_name(c) || c == '_' || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Length of the quoted text, comment or cast at the start of `rest` that must be copied as it is.
std::size_t opaque_length(std::string_view rest) {
    const auto until = [rest](std::string_view end, std::size_t from) {
        const std::size_t at = rest.find(end, from);
        return at == std::string_view::npos ? rest.size() : at + end.size();
    };
    if (rest.starts_with("'")) return until("'", 1);
    if (rest.starts_with("\"")) return until("\"", 1);
    if (rest.starts_with("--")) return until("\n", 2);
    if (rest.starts_with("::")) return 2;
    return 0;
}

std::string placeholder_text(Placeholder placeholder, std::size_t position) {
    switch (placeholder) {
        case Placeholder::dollar:
            return fmt::format("${}", position);
        case Placeholder::question:
            return fmt::format("?{}", position);
        case Placeholder::plain:
            break;
    }
    return "?";
}

std::size_t position_of(std::vector<std::string>& names, std::string_view name,
                        Placeholder placeholder) {
    if (placeholder != Placeholder::plain) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found != names.end()) return static_cast<std::size_t>(found - names.begin()) + 1;
    }
    names.emplace_back(name);
    return names.size();
}

void compile_onto(Statement& out, std::string_view text, Placeholder placeholder) {
    while (!text.empty()) {
        if (const std::size_t opaque = opaque_length(text); opaque > 0) {
            out.sql.append(text.substr(0, opaque));
            text.remove_prefix(opaque);
        } else if (text[0] == ':' && text.size() > 1 && starts_name(text[1])) {
            const auto* const end = std::find_if_not(text.begin() + 1, text.end(), continues_name);
            const auto length = static_cast<std::size_t>(end - text.begin());
            const std::string_view name = text.substr(1, length - 1);
            out.sql += placeholder_text(placeholder, position_of(out.names, name, placeholder));
            text.remove_prefix(length);
        } else {
            out.sql += text[0];
            text.remove_prefix(1);
        }
    }
}

}  // namespace

Statement Statement::compile(std::string_view text, Placeholder placeholder, std::string_view row) {
    constexpr std::string_view place = "{rows}";
    const std::size_t at = row.empty() ? std::string_view::npos : text.find(place);
    Statement out;
    compile_onto(out, text.substr(0, at), placeholder);
    if (at == std::string_view::npos) return out;
    out.row_at = out.sql.size();
    compile_onto(out, row, placeholder);
    out.row_size = out.sql.size() - out.row_at;
    compile_onto(out, text.substr(at + place.size()), placeholder);
    return out;
}

}  // namespace postroom::sql
