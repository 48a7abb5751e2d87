// Driver: sql::Connection over the C API of SQLite.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/sqlite/open_file.hpp"
#include "backends/sqlite/statement_cache.hpp"
#include "sql/connection.hpp"

namespace postroom::sqlite {

class Driver final : public sql::Connection {
public:
    // A connection of our own. `timeout` bounds how long a statement waits for other writers.
    Driver(const std::string& path, Duration timeout);
    // The caller's connection, which must outlive this. Nothing about it is changed, no statement
    // stays on it.
    explicit Driver(sqlite3* borrowed);

    sqlite3* handle() const { return connection_; }

    // In `separate` a statement may be BEGIN or COMMIT itself: what stands between them is one
    // transaction. A parameter :run_now of a statement is not looked up: it is the time when the
    // first statement of this run that names it was reached, in whole milliseconds as everywhere.
    void run(sql::Bracket bracket, std::span<const sql::Call> calls,
             const sql::OnRow& on_row) override;
    void run_open(std::span<const sql::Call> calls, const sql::OnRow& on_row) override;
    void begin() override;
    void commit() override;
    void rollback() override;
    bool in_transaction() const override;
    SqlRows execute(const SqlStatement& statement) override;
    void execute_script(const std::string& script) override;
    bool healthy() const override { return !broken_; }

private:
    template <class Work>
    void guarded(const Work& work);
    void run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void run_block(std::span<const sql::Call> calls, std::size_t first, const sql::OnRow& on_row);
    bool all_read_only(std::span<const sql::Call> calls);
    void run_in_transaction(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void run_separate(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void run_joined(std::span<const sql::Call> calls, const sql::OnRow& on_row);
    void forget_statements();
    void simple(const char* sql);
    void rollback_quietly(const char* sql) noexcept;

    const bool borrowed_;
    BusyWait busy_;
    const OpenFile file_;  // empty when borrowed
    sqlite3* const connection_;
    StatementCache cache_;
    std::shared_ptr<Prepared> block_;  // nullptr: not yet
    std::string block_of_;             // the text of one row of it
    bool broken_ = false;
};

}  // namespace postroom::sqlite
