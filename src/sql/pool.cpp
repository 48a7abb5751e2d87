#include "sql/pool.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "postroom/error.hpp"

namespace postroom::sql {

PooledConnection::PooledConnection(Pool& pool, std::unique_ptr<Connection> connection)
    : pool_(&pool), connection_(std::move(connection)) {}

PooledConnection::~PooledConnection() {
    if (connection_) pool_->give_back(std::move(connection_));
}

Pool::Pool(Connect connect, const Limits& limits)
    : connect_(std::move(connect)),
      wait_(limits.wait),
      ledger_(limits.budget == nullptr ? std::make_shared<Ledger>(Ledger::unlimited)
                                       : limits.budget->ledger()),
      part_{.connections_max = limits.connections_max, .essential = limits.essential} {}

Pool::~Pool() { ledger_->forget(part_); }

PooledConnection Pool::acquire(std::stop_token stop) {
    for (;;) {
        Ledger::Loan loan = take(stop);
        if (loan.connection == nullptr) break;
        if (loan.connection->healthy()) return {*this, std::move(loan.connection)};
        // The server went away while it was idle; try the next, or connect anew.
        give_back(std::move(loan.connection));
    }
    try {
        return {*this, connect_()};
    } catch (...) {
        give_back(nullptr);
        throw;
    }
}

// What had to make room is closed here, before a new one is opened.
Pool::Ledger::Loan Pool::take(const std::stop_token& stop) {
    std::optional<Ledger::Loan> loan = ledger_->take(part_, wait_, stop);
    if (loan) return {.connection = std::move(loan->connection)};
    if (stop.stop_requested())
        throw Error(ErrorKind::unavailable, "stopped while waiting for a connection");
    throw Error(
        ErrorKind::unavailable,
        fmt::format("all {} connections stayed in use for {} s (pool_max, budget, pool_wait)",
                    std::min(part_.connections_max, ledger_->connections_max()),
                    std::chrono::duration<double>(wait_).count()));
}

void Pool::give_back(std::unique_ptr<Connection> connection) noexcept {
    const bool lost = connection != nullptr && !connection->healthy();
    // One that is not sound is closed before its place is free.
    if (lost || (connection != nullptr && connection->in_transaction())) connection.reset();
    // Whatever happened to its server happened to the others, and a server that stopped answering
    // would be waited for once with each of them.
    if (lost) ledger_->forget(part_);
    ledger_->give_back(part_, std::move(connection));
}

}  // namespace postroom::sql
