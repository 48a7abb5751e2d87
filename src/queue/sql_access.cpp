#include "queue/sql_access.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace postroom {

std::string SqlWords::quoted(std::string_view name) const {
    if (name.empty() || name.find_first_of(quotes()) != std::string_view::npos ||
        name.find('\0') != std::string_view::npos)
        throw std::invalid_argument("table: a name is empty or has a quote in it");
    return quotes().front() + std::string(name) + quotes().back();
}

std::string SqlWords::quoted(const std::string& schema, const std::string& table) const {
    return schema.empty() ? quoted(table) : quoted(schema) + "." + quoted(table);
}

std::string SqlWords::select_by_limit(const SqlSelect& parts) {
    return fmt::format("SELECT {} FROM {} WHERE {}{}{}{}{}", parts.what, parts.from, parts.where,
                       parts.order.empty() ? "" : " ORDER BY " + parts.order,
                       parts.rows == 0 ? "" : fmt::format(" LIMIT {}", parts.rows),
                       parts.lock == SqlSelect::Lock::none ? "" : " FOR UPDATE",
                       parts.lock == SqlSelect::Lock::skip ? " SKIP LOCKED" : "");
}

SqlColumn::Kind SqlWords::kind_of(std::string_view type,
                                  std::initializer_list<std::string_view> bytes,
                                  std::initializer_list<std::string_view> numbers) {
    const auto has = [&](std::string_view part) { return type.find(part) != type.npos; };
    if (std::ranges::any_of(bytes, has)) return SqlColumn::Kind::bytes;
    const bool number = std::ranges::any_of(numbers, has);
    return number ? SqlColumn::Kind::number : SqlColumn::Kind::text;
}

std::vector<SqlValue> SqlWords::forms(const SqlColumn& column, const std::string& bytes) const {
    if (column.kind == SqlColumn::Kind::bytes) return {Blob{bytes}};
    return {bytes};
}

SqlAccess* sql_access_of(Store& store) { return dynamic_cast<SqlAccess*>(&store); }

}  // namespace postroom
