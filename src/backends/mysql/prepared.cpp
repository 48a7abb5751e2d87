#include "backends/mysql/prepared.hpp"

#include <new>

#include <fmt/format.h>

#include "backends/mysql/errors.hpp"
#include "backends/mysql/result.hpp"
#include "sql/bracketed_connection.hpp"

namespace postroom::mysql {

namespace {

// Whatever a visitor threw in the middle of, the connection must be free for the next statement.
class DrainAtEnd {
public:
    explicit DrainAtEnd(MYSQL_STMT* statement) : statement_(statement) {}
    ~DrainAtEnd() {
        do mysql_stmt_free_result(statement_);
        while (mysql_stmt_more_results(statement_) != 0 && mysql_stmt_next_result(statement_) == 0);
    }
    DrainAtEnd(const DrainAtEnd&) = delete;
    DrainAtEnd& operator=(const DrainAtEnd&) = delete;

private:
    MYSQL_STMT* const statement_;
};

}  // namespace

Prepared::Prepared(MYSQL* connection, const std::string& sql)
    : statement_(mysql_stmt_init(connection)) {
    if (statement_ == nullptr) throw std::bad_alloc();
    if (mysql_stmt_prepare(statement_.get(), sql.data(), sql.size()) != 0)
        throw error_of(statement_.get());
    my_bool yes = 1;
    mysql_stmt_attr_set(statement_.get(), STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
}

void Prepared::run(Bindings& bindings, const std::function<void(const sql::Row&)>& on_row) {
    execute(bindings);
    each_result([&] {
        ResultRow row(statement_.get(), ResultRow::Form::native);
        while (row.fetch())
            if (on_row) on_row(row);
    });
}

void Prepared::run_as_text(Bindings& bindings, SqlRows& rows) {
    execute(bindings);
    each_result([&] {
        rows.clear();
        ResultRow row(statement_.get(), ResultRow::Form::text);
        while (row.fetch()) rows.push_back(sql::cells_of_row(row, row.columns()));
    });
}

void Prepared::execute(Bindings& bindings) {
    MYSQL_STMT* const statement = statement_.get();
    if (mysql_stmt_param_count(statement) != bindings.count()) {
        throw Error(ErrorKind::misuse,
                    fmt::format("the statement has {} parameters, {} values were given",
                                mysql_stmt_param_count(statement), bindings.count()));
    }
    if (bindings.count() > 0 && mysql_stmt_bind_param(statement, bindings.data()) != 0)
        throw error_of(statement);
    if (mysql_stmt_execute(statement) != 0) throw error_of(statement);
}

void Prepared::each_result(const std::function<void()>& on_result) {
    MYSQL_STMT* const statement = statement_.get();
    const DrainAtEnd drain(statement);
    for (;;) {
        if (mysql_stmt_field_count(statement) > 0) {
            if (mysql_stmt_store_result(statement) != 0) throw error_of(statement);
            on_result();
            mysql_stmt_free_result(statement);
        }
        const int more = mysql_stmt_next_result(statement);
        if (more > 0) throw error_of(statement);
        if (more < 0) return;
    }
}

}  // namespace postroom::mysql
