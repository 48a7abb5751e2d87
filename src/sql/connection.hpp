// Connection: the seam to a database driver. One open connection, synchronous, used by one thread
// at a time.
//
// A driver reports failures as postroom::Error with the right kind; see error.hpp. After
// unavailable or outcome_unknown the connection is broken and healthy() is false.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"
#include "postroom/ids.hpp"
#include "postroom/transaction.hpp"
#include "sql/statement.hpp"
#include "sql/value.hpp"

namespace postroom::sql {

// The current row of a result. Views stay valid until the visitor returns.
class Row {
public:
    virtual ~Row() = default;
    virtual bool null(int column) const = 0;
    virtual std::int64_t integer(int column) const = 0;   // also for booleans: 0 or 1
    virtual std::string_view text(int column) const = 0;  // NULL reads as empty
    virtual std::string_view blob(int column) const = 0;
    // Of 16 bytes, or of a text; nil for anything else.
    virtual Uuid uuid(int column) const;
    virtual Instant time(int column) const = 0;
};

// One statement with its values.
struct Call {
    const Statement* statement;
    const Params* params;
};

// `call` is the index of the call that yields the row.
using OnRow = std::function<void(std::size_t call, const Row& row)>;

enum class Bracket {
    transaction,  // begin, the calls, commit
    separate,     // every call its own transaction
    joined,       // inside the transaction that is open already
};

// The first word of a statement, in capital letters.
std::string first_word(std::string_view sql);

class Connection {
public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;

    // Runs the calls in order, in as few round trips as the engine allows. When one fails, a
    // transaction that was begun here is rolled back and the error thrown; a joined one is left to
    // its owner.
    virtual void run(Bracket bracket, std::span<const Call> calls, const OnRow& on_row) = 0;

    // Runs the calls in the transaction that begin() opened. When one fails, the transaction is
    // good for nothing but rollback().
    virtual void run_open(std::span<const Call> calls, const OnRow& on_row) {
        run(Bracket::joined, calls, on_row);
    }

    // As run() within the open transaction, but nobody waits for the answers: they may come with
    // those of the next statement or of the commit, and so may an error. `on_row` is kept until
    // then; what the calls point at is not. An engine without round trips to save runs them at
    // once.
    virtual void run_later(std::span<const Call> calls, OnRow on_row) {
        run(Bracket::joined, calls, on_row);
    }

    virtual void begin() = 0;
    virtual void commit() = 0;
    virtual void rollback() = 0;
    virtual bool in_transaction() const = 0;

    // Whether a statement that failed has undone the transaction that begin() opened, as a deadlock
    // does on some engines: then nothing of it stands, and it may be repeated.
    virtual bool undone_by_failure() const { return false; }
    // Whether `sql` ends the transaction it runs in, although the connection may be in one
    // afterwards: COMMIT AND CHAIN begins the next.
    virtual bool ends_transaction(std::string_view sql) const;

    // A statement of the user with the engine's own placeholders.
    virtual SqlRows execute(const SqlStatement& statement) = 0;

    // A script of several statements without parameters: migrations.
    virtual void execute_script(const std::string& script) = 0;

    // False when it must not go back into the pool. Cheap; notices a server that went away while
    // idle.
    virtual bool healthy() const = 0;
};

// A TxContext that stands on one of our connections: Transaction and borrowed handles.
class ConnectionHolder {
public:
    virtual ~ConnectionHolder() = default;
    virtual Connection& connection() = 0;
    // The store that began it; nullptr for a borrowed handle.
    virtual const void* origin() const = 0;
};

}  // namespace postroom::sql
