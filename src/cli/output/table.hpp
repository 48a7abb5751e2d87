// Table: columns for people.
#pragma once

#include <string>
#include <vector>

namespace postroom::cli {

class Table {
public:
    explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

    // One cell for each heading. Cells are made printable; the last column is not padded.
    void add(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }
    std::string text() const;

private:
    std::vector<std::string> headings_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace postroom::cli
