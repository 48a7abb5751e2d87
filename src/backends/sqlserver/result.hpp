// Result: the rows of a statement, one at a time.
#pragma once

#include <sql.h>

#include <string>
#include <vector>

#include "sql/connection.hpp"

namespace postroom::sqlserver {

// The current row, read as a whole.
class ResultRow final : public sql::Row {
public:
    // Describes the columns of the result that `statement` stands at. `as_text`: numbers and times
    // are wanted as texts too.
    ResultRow(SQLHSTMT statement, bool as_text);

    int columns() const { return static_cast<int>(cells_.size()); }
    // False behind the last row. Throws Error.
    bool fetch();

    bool null(int column) const override { return cell(column).null; }
    std::int64_t integer(int column) const override { return cell(column).number; }
    std::string_view text(int column) const override { return cell(column).bytes; }
    std::string_view blob(int column) const override { return cell(column).bytes; }
    Uuid uuid(int column) const override;
    Instant time(int column) const override { return cell(column).time; }

private:
    enum class Kind { integer, text, bytes, time };

    struct Cell {
        Kind kind = Kind::text;
        bool null = true;
        std::int64_t number = 0;
        Instant time{};
        std::string bytes{};
    };

    const Cell& cell(int column) const { return cells_.at(static_cast<std::size_t>(column)); }
    void read(SQLUSMALLINT number, Cell& cell);
    void read_integer(SQLUSMALLINT number, Cell& cell);
    void read_time(SQLUSMALLINT number, Cell& cell);
    // The value of a column, piece by piece, as one of these C types; false: NULL.
    bool read_long(SQLUSMALLINT number, SQLSMALLINT c_type, std::string& out);

    const SQLHSTMT statement_;
    const bool as_text_;
    std::vector<Cell> cells_;
};

}  // namespace postroom::sqlserver
