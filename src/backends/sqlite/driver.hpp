// Driver: sql::Connection over the C API of SQLite.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/sqlite/open_file.hpp"
#include "backends/sqlite/prepared.hpp"
#include "sql/bracketed_connection.hpp"
#include "sql/statement_cache.hpp"

namespace postroom::sqlite {

// In Bracket::separate a statement may be BEGIN or COMMIT itself: what stands between them is one
// transaction. A parameter :run_now of a statement is not looked up: it is the time when the first
// statement of its run that names it was reached, in whole milliseconds as everywhere.
class Driver final : public sql::BracketedConnection {
public:
    // A connection of our own. `timeout` bounds how long a statement waits for other writers.
    Driver(const std::string& path, Duration timeout);
    // The caller's connection, which must outlive this. Nothing about it is changed.
    explicit Driver(sqlite3* borrowed, BorrowOptions options = {});

    sqlite3* native() const { return connection_; }

    void rollback() override;
    bool in_transaction() const override;
    SqlRows execute(const SqlStatement& statement) override;
    void execute_script(const std::string& script) override;

protected:
    void require_usable(sql::Bracket bracket) const override;
    void run_all(std::span<const sql::Call> calls, const sql::OnRow& on_row) override;
    void send(const char* statement) override { cache_.get(statement)->run(); }
    void send_begin(std::span<const sql::Call> calls) override;
    void send_commit() override;
    void rollback_quietly(const char* statement) noexcept override;
    void set_mark() override;
    bool mark_stands() override { return !ended_; }
    bool needs_transaction(std::span<const sql::Call> calls) override;
    bool needs_savepoint(std::span<const sql::Call> calls) override;
    bool user_met_failure() const override;
    void failed(const Error& error) override;
    void forget_statements() override;

private:
    void run_block(std::span<const sql::Call> calls, std::size_t first, const sql::OnRow& on_row);
    bool all_read_only(std::span<const sql::Call> calls);

    BusyWait busy_;
    bool ended_ = false;   // since set_mark(); written by hooks, also when the file is closed
    const OpenFile file_;  // empty when borrowed
    sqlite3* const connection_;
    sql::StatementCache<Prepared> cache_;
    std::shared_ptr<Prepared> block_;  // nullptr: not yet
    std::string block_of_;             // the text of one row of it
};

}  // namespace postroom::sqlite
