// TxContext and Transaction: where a message is written together with the change it announces.
//
// A TxContext is somebody's open database transaction as far as we need it: run a statement in it,
// and learn how it ended. Implement it to plug your own framework in; sqlite::borrow(),
// postgres::borrow() and mysql::borrow() give one for a native handle. A Transaction is one that we
// began: a stack object that rolls back in its destructor and commits explicitly.
//
// Thread safety: a transaction belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace postroom {

// Bytes, as opposed to text.
struct Blob {
    std::string bytes{};

    friend bool operator==(const Blob&, const Blob&) = default;
};

// A parameter of a statement: NULL, integer, text or bytes.
using SqlValue = std::variant<std::monostate, std::int64_t, std::string, Blob>;

// SQL with the engine's own placeholders, and their values in order.
struct SqlStatement {
    std::string sql{};
    std::vector<SqlValue> params{};
};

// Cells in text form; nullopt is NULL.
using SqlRows = std::vector<std::vector<std::optional<std::string>>>;

class TxContext {
public:
    TxContext() = default;
    TxContext(const TxContext&) = delete;
    TxContext& operator=(const TxContext&) = delete;
    virtual ~TxContext() = default;

    // True while a transaction is open in which execute() takes part.
    virtual bool in_transaction() const = 0;

    // Runs one statement on the connection of the open transaction. Throws Error.
    virtual SqlRows execute(const SqlStatement& statement) = 0;

    // False when nobody will tell this object how the transaction ended, as with a borrowed handle.
    // The two functions below then throw Error{misuse}.
    virtual bool reports_end() const = 0;

    // `callback` runs after the server confirmed the commit, never when it failed or its outcome is
    // unknown.
    virtual void after_commit(std::function<void()> callback) = 0;

    // `callback` runs after a rollback, whoever asked for it.
    virtual void after_rollback(std::function<void()> callback) = 0;
};

// How borrow() uses somebody's connection.
struct BorrowOptions {
    // Our statements stay prepared on the connection, which saves the server from parsing and
    // planning each of them anew: for as long as what borrow() returned lives, on PostgreSQL until
    // the connection ends. Not for a connection whose prepared statements somebody else discards
    // between transactions, as some poolers do: the first of ours then fails there.
    bool prepare = false;
};

class Transaction : public TxContext {
public:
    // Makes everything durable and visible, then runs the after_commit callbacks (what they throw
    // is swallowed and does not undo the commit). Throws Error{outcome_unknown} when the connection
    // broke on the way: the changes may be there or not; a message with an idempotency key can
    // simply be enqueued again.
    virtual void commit() = 0;

    // Undoes everything. Does nothing after commit() or rollback().
    virtual void rollback() = 0;
};

}  // namespace postroom
