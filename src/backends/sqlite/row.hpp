// StatementRow: the row at which a statement stands.
#pragma once

#include "sql/connection.hpp"

struct sqlite3_stmt;

namespace postroom::sqlite {

class StatementRow final : public sql::Row {
public:
    explicit StatementRow(sqlite3_stmt* statement) : statement_(statement) {}

    bool null(int column) const override;
    std::int64_t integer(int column) const override;
    std::string_view text(int column) const override;
    std::string_view blob(int column) const override;
    Instant time(int column) const override;

private:
    sqlite3_stmt* const statement_;
};

}  // namespace postroom::sqlite
