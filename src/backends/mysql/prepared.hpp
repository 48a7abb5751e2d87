// Prepared: one prepared statement on one connection.
#pragma once

#include <mysql.h>

#include <functional>
#include <memory>
#include <string>

#include "backends/mysql/bindings.hpp"
#include "sql/connection.hpp"

namespace postroom::mysql {

class Prepared {
public:
    Prepared(MYSQL* connection, const std::string& sql);

    // Executes and visits the rows of all results: a CALL may yield several.
    void run(Bindings& bindings, const std::function<void(const sql::Row&)>& on_row);

    // Executes and returns every cell as text; `rows` are those of the last result.
    void run_as_text(Bindings& bindings, SqlRows& rows);

private:
    struct Close {
        void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
    };

    void execute(Bindings& bindings);
    // Stores each result and hands it over; there may be none.
    void each_result(const std::function<void()>& on_result);

    std::unique_ptr<MYSQL_STMT, Close> statement_;
};

}  // namespace postroom::mysql
