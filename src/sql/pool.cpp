#include "sql/pool.hpp"

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

Pool::Pool(Connect connect, std::size_t max, Duration wait)
    : connect_(std::move(connect)), max_(max), wait_(wait) {}

PooledConnection Pool::acquire(std::stop_token stop) {
    for (;;) {
        std::unique_ptr<Connection> connection = take_idle_or_slot(stop);
        if (connection == nullptr) break;
        if (connection->healthy()) return {*this, std::move(connection)};
        // The server went away while it was idle; try the next, or connect anew.
        give_back(std::move(connection));
    }
    try {
        return {*this, connect_()};
    } catch (...) {
        give_back(nullptr);
        throw;
    }
}

// An idle connection, or nullptr with a slot reserved for a new one.
std::unique_ptr<Connection> Pool::take_idle_or_slot(std::stop_token stop) {
    base::MutexLock lock(mutex_);
    const auto free = [this]() POSTROOM_REQUIRES(mutex_) { return on_loan_ < max_; };
    if (!freed_.wait_for(lock, stop, wait_, free)) {
        if (stop.stop_requested()) {
            throw Error(ErrorKind::unavailable, "stopped while waiting for a connection");
        }
        throw Error(ErrorKind::unavailable,
                    fmt::format("all {} connections stayed in use for {} s (pool_max, pool_wait)",
                                max_, std::chrono::duration<double>(wait_).count()));
    }
    ++on_loan_;
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
}

void Pool::give_back(std::unique_ptr<Connection> connection) noexcept {
    // A connection that is not sound is closed after the lock is released: closing may take a
    // while.
    const bool sound =
        connection != nullptr && connection->healthy() && !connection->in_transaction();
    {
        const base::MutexLock lock(mutex_);
        --on_loan_;
        if (sound) idle_.push_back(std::move(connection));
    }
    freed_.notify_one();
}

}  // namespace postroom::sql
