// Pool: a bounded number of connections to one database, made when needed, kept when sound.
//
// Thread safety: may be shared. A PooledConnection belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "postroom/clock.hpp"
#include "sql/connection.hpp"
#include "sql/connection_ledger.hpp"

namespace postroom::sql {

class Pool;

// A connection on loan; goes back to its pool, or is closed when it is not healthy any more.
class PooledConnection {
public:
    PooledConnection(Pool& pool, std::unique_ptr<Connection> connection);
    PooledConnection(PooledConnection&& other) noexcept = default;
    PooledConnection& operator=(PooledConnection&&) = delete;
    ~PooledConnection();

    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
};

class Pool {
public:
    using Connect = std::function<std::unique_ptr<Connection>()>;

    struct Limits {
        std::size_t connections_max = 16;
        Duration wait{};  // how long acquire() waits for a connection that others hold
        std::shared_ptr<ConnectionBudget> budget{};
        bool essential = false;  // may use what the budget keeps back
    };
    Pool(Connect connect, const Limits& limits);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    // Throws Error{unavailable} when no connection comes free in time, when `stop` is requested
    // while waiting, or when the database cannot be reached.
    PooledConnection acquire(std::stop_token stop = {});

private:
    using Ledger = ConnectionBudget::Ledger;

    friend class PooledConnection;
    void give_back(std::unique_ptr<Connection> connection) noexcept;
    Ledger::Loan take(const std::stop_token& stop);

    // Constant after construction.
    const Connect connect_;
    const Duration wait_;
    const std::shared_ptr<Ledger> ledger_;  // shared with the other pools of the budget

    Ledger::Part part_;  // the ledger's
};

}  // namespace postroom::sql
