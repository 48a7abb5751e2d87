// Prepared: one prepared statement of one connection, and the rows it yields.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sql/connection.hpp"
#include "sql/statement.hpp"
#include "sql/value.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace postroom::sqlite {

// RunClock: the one time of several statements, by the clock that SQL itself goes by.
class RunClock {
public:
    // `connection` must outlive it.
    explicit RunClock(sqlite3* connection) : connection_(connection) {}

    // Microseconds since 1970, in whole milliseconds, of the first call.
    std::int64_t now();

private:
    sqlite3* const connection_;
    std::optional<std::int64_t> now_;
};

class Prepared {
public:
    // Throws Error. `kept`: it will be used many times.
    Prepared(sqlite3* connection, const std::string& sql, bool kept);

    // True when it does not write to the database.
    bool read_only() const;

    // Runs it with the values of `params`, and of `clock` for :run_now, named by position in
    // `statement`, and visits its rows as those of `call`. Ready for the next run afterwards,
    // whatever happened.
    void run(const sql::Statement& statement, const sql::Params& params, RunClock& clock,
             std::size_t call, const sql::OnRow& on_row);

    // Runs a block of rows (row_block.hpp) of `one`; each second call is the question.
    void run_block(const sql::Statement& one, std::span<const sql::Call> calls);

    // Runs it with values by position and visits its rows.
    void run(const std::vector<SqlValue>& values,
             const std::function<void(const sql::Row&)>& on_row);

    // Without values and rows.
    void run();

    // For rows of any statement, in text form.
    int column_count() const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };

    template <class Bind, class Visit>
    void run_with(const Bind& bind, const Visit& visit);
    template <class Visit>
    void step_all(const Visit& visit);
    void check(int code) const;
    void check_value_count(std::size_t given) const;
    void bind(int position, const sql::Value& value);
    void bind(int position, const SqlValue& value);

    sqlite3* const connection_;
    const std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::vector<std::size_t> places_;  // of the parameters in the Params of the last run
};

}  // namespace postroom::sqlite
