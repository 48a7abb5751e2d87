// The transactions of the SQL store: one that we began, one that a caller lent us, one that only
// the caller knows.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "postroom/error.hpp"
#include "postroom/transaction.hpp"
#include "sql/connection.hpp"
#include "sql/dialect.hpp"
#include "sql/pool.hpp"

namespace postroom::sql {

// Begun by a store; rolls back in its destructor.
class SqlTransaction final : public Transaction, public ConnectionHolder {
public:
    // Begins. `origin` is the store, for telling its transactions from those of another.
    SqlTransaction(PooledConnection connection, const void* origin);
    ~SqlTransaction() override;

    // False also when the database ended it by itself, as SQLite does on some errors, or the user
    // did with a statement.
    bool in_transaction() const override {
        return state_ == State::open && !ended_ && (*connection_)->in_transaction();
    }
    SqlRows execute(const SqlStatement& statement) override;
    bool reports_end() const override { return true; }
    void after_commit(std::function<void()> callback) override;
    void after_rollback(std::function<void()> callback) override;
    void commit() override;
    void rollback() override;

    Connection& connection() override;
    const void* origin() const override { return origin_; }

private:
    enum class State { open, committed, rolled_back, unknown };

    void require_open(const char* operation) const;
    void require_unended() const;
    std::exception_ptr roll_back() noexcept;
    void finish(State state, std::vector<std::function<void()>>& callbacks);

    // Given back when the transaction ends, before the callbacks run: they may need a connection.
    std::optional<PooledConnection> connection_;
    const void* const origin_;
    State state_ = State::open;
    bool ended_ = false;  // by a statement of the user; what is open now, if anything, is another
    std::vector<std::function<void()>> after_commit_;
    std::vector<std::function<void()>> after_rollback_;
};

// A transaction was ended behind the back of whoever began it.
Error ended_before();

// Stands on a connection whose transaction belongs to the caller.
class BorrowedTransaction final : public TxContext, public ConnectionHolder {
public:
    explicit BorrowedTransaction(std::unique_ptr<Connection> connection)
        : connection_(std::move(connection)) {}

    bool in_transaction() const override { return connection_->in_transaction(); }
    SqlRows execute(const SqlStatement& statement) override {
        return connection_->execute(statement);
    }
    bool reports_end() const override { return false; }
    void after_commit(std::function<void()> callback) override;
    void after_rollback(std::function<void()> callback) override;

    Connection& connection() override { return *connection_; }
    const void* origin() const override { return nullptr; }

private:
    const std::unique_ptr<Connection> connection_;
};

// Runs calls through a TxContext that the user implemented: values are put into a form that any
// driver can bind, results come back as text.
class CallerConnection final : public Connection {
public:
    CallerConnection(TxContext& tx, SqlValue (*render)(const Value&)) : tx_(tx), render_(render) {}

    void run(Bracket bracket, std::span<const Call> calls, const OnRow& on_row) override;
    void begin() override;
    void commit() override;
    void rollback() override;
    bool in_transaction() const override { return tx_.in_transaction(); }
    SqlRows execute(const SqlStatement& statement) override { return tx_.execute(statement); }
    void execute_script(const std::string& script) override;
    bool healthy() const override { return true; }

private:
    TxContext& tx_;
    SqlValue (*const render_)(const Value&);
};

// `call` with its values put into a form that any driver can bind.
SqlStatement render(const Call& call, SqlValue (*render_value)(const Value&));

}  // namespace postroom::sql
