// Table: columns for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/output/terminal.hpp"

namespace postroom::cli {

// Which tables a column is part of: those that have to fit a terminal, those that may be as wide as
// they are, or both.
enum class Shown : std::uint8_t { always, narrow, wide };

struct Column {
    // By its text; none when there is no such function.
    using ColorOf = Color (*)(std::string_view cell);

    // NOLINTNEXTLINE(google-explicit-constructor): most columns are a heading and nothing else.
    Column(const char* title, Shown where = Shown::always, ColorOf colors = nullptr)
        : heading(title), shown(where), color_of(colors) {}

    std::string heading;
    Shown shown;
    ColorOf color_of;
};

// How a table is looked at.
struct Layout {
    std::optional<std::size_t> width{};  // what it has to fit; nullopt: it may be as wide as it is
    bool colors = false;
};

// That of standard output: a terminal that is to be fitted unless --wide is given, or a file that
// takes everything.
Layout layout_for(const Invocation& in);

class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // One cell for each column. Cells are made printable.
    void add(std::vector<std::string> cells);
    // To fit, the last column continues on the next line instead of being cut.
    void wrap_last() { wraps_last_ = true; }
    bool empty() const { return rows_.empty(); }
    std::string text(const Layout& layout) const;

private:
    std::vector<std::size_t> shown_columns(const Layout& layout) const;
    std::vector<std::size_t> widths(const Layout& layout,
                                    const std::vector<std::size_t>& shown) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
    bool wraps_last_ = false;
};

}  // namespace postroom::cli
