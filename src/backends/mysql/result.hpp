// ResultRow: the current row of a prepared statement's result.
#pragma once

#include <mysql.h>

#include <string>
#include <vector>

#include "sql/connection.hpp"

namespace postroom::mysql {

class ResultRow final : public sql::Row {
public:
    enum class Form {
        native,  // integers and times as such
        text,    // everything as text
    };

    // Binds buffers that fit the stored result of `statement`. Throws Error when the driver cannot.
    ResultRow(MYSQL_STMT* statement, Form form);

    // False: there are no more rows.
    bool fetch();
    int columns() const { return static_cast<int>(cells_.size()); }

    bool null(int column) const override { return cell(column).null != 0; }
    std::int64_t integer(int column) const override;
    std::string_view text(int column) const override;
    std::string_view blob(int column) const override { return text(column); }
    Instant time(int column) const override;

private:
    // Integers and times have a form of their own; everything else is bytes.
    struct Cell {
        enum_field_types type = MYSQL_TYPE_BLOB;
        std::int64_t integer = 0;
        MYSQL_TIME time{};
        std::string bytes{};
        unsigned long length = 0;
        my_bool null = 0;
    };
    const Cell& cell(int column) const { return cells_.at(static_cast<std::size_t>(column)); }

    MYSQL_STMT* const statement_;
    std::vector<Cell> cells_;
};

}  // namespace postroom::mysql
