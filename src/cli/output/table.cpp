#include "cli/output/table.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/utf8.hpp"
#include "cli/output/text.hpp"

namespace postroom::cli {

void Table::add(std::vector<std::string> cells) {
    POSTROOM_ASSERT(cells.size() == headings_.size());
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::string Table::text() const {
    std::vector<std::size_t> widths;
    for (const std::string& heading : headings_) widths.push_back(heading.size());
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], base::code_point_count(row[i]));
    }
    std::string out;
    const auto append = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            out += row[i];
            if (i + 1 == row.size()) break;
            out.append(widths[i] - base::code_point_count(row[i]) + 2, ' ');
        }
        while (out.ends_with(' ')) out.pop_back();
        out += '\n';
    };
    append(headings_);
    for (const auto& row : rows_) append(row);
    return out;
}

}  // namespace postroom::cli
