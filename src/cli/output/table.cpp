#include "cli/output/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"
#include "base/utf8.hpp"
#include "cli/output/text.hpp"
#include "cli/output/wrap.hpp"

namespace postroom::cli {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t cut_width_min = 6;
constexpr std::size_t wrap_width_min = 20;

std::size_t total_of(const std::vector<std::size_t>& widths) {
    return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
}

// Takes from the widest that can spare something until they fit, or nothing is left to take.
void cut(std::vector<std::size_t>& widths, const std::vector<std::size_t>& mins,
         std::size_t limit) {
    while (total_of(widths) > limit) {
        std::size_t widest = widths.size();
        for (std::size_t i = 0; i < widths.size(); ++i)
            if (widths[i] > mins[i] && (widest == widths.size() || widths[i] > widths[widest]))
                widest = i;
        if (widest == widths.size()) return;
        --widths[widest];
    }
}

}  // namespace

Layout layout_for(const Invocation& in) {
    return {.width = in.has("wide") ? std::nullopt : terminal_width(STDOUT_FILENO),
            .colors = takes_colors(STDOUT_FILENO)};
}

void Table::add(std::vector<std::string> cells) {
    POSTROOM_ASSERT(cells.size() == columns_.size());
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::shown_columns(const Layout& layout) const {
    const Shown hidden = layout.width ? Shown::wide : Shown::narrow;
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < columns_.size(); ++i)
        if (columns_[i].shown != hidden) shown.push_back(i);
    return shown;
}

std::vector<std::size_t> Table::widths(const Layout& layout,
                                       const std::vector<std::size_t>& shown) const {
    std::vector<std::size_t> widths;
    std::vector<std::size_t> mins;  // a heading is never cut
    for (const std::size_t i : shown) {
        widths.push_back(columns_[i].heading.size());
        mins.push_back(std::max(cut_width_min, columns_[i].heading.size()));
        for (const auto& row : rows_)
            widths.back() = std::max(widths.back(), base::code_point_count(row[i]));
    }
    if (!layout.width) return widths;
    if (wraps_last_) widths.back() = std::min(widths.back(), wrap_width_min);
    cut(widths, mins, *layout.width);
    return widths;
}

std::string Table::text(const Layout& layout) const {
    const std::vector<std::size_t> shown = shown_columns(layout);
    const std::vector<std::size_t> widths = this->widths(layout, shown);
    const std::size_t last_begins = total_of(widths) - widths.back();
    std::string out;
    const auto append = [&](std::size_t position, const std::string& cell, Color color) {
        const bool last = position + 1 == shown.size();
        if (last && wraps_last_ && layout.width) {
            out += wrapped(cell, last_begins, *layout.width);
            return;
        }
        const std::string text = layout.width ? shortened(cell, widths[position]) : cell;
        out += layout.colors ? in_color(color, text) : text;
        if (!last) out.append(widths[position] - base::code_point_count(text) + gap, ' ');
    };
    const auto end_line = [&] {
        while (out.ends_with(' ')) out.pop_back();
        out += '\n';
    };
    for (std::size_t i = 0; i < shown.size(); ++i)
        append(i, columns_[shown[i]].heading, Color::none);
    end_line();
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const Column& column = columns_[shown[i]];
            const std::string& cell = row[shown[i]];
            append(i, cell, column.color_of == nullptr ? Color::none : column.color_of(cell));
        }
        end_line();
    }
    return out;
}

}  // namespace postroom::cli
