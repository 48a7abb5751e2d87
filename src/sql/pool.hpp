// Pool: a bounded number of connections to one database, made when needed, kept when sound.
//
// Thread safety: may be shared. A PooledConnection belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"
#include "sql/connection.hpp"

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

    // `wait` bounds how long acquire() waits for a connection that others hold.
    Pool(Connect connect, std::size_t max, Duration wait);

    // Throws Error{unavailable} when no connection comes free in time, when `stop` is requested
    // while waiting, or when the database cannot be reached.
    PooledConnection acquire(std::stop_token stop = {});

private:
    friend class PooledConnection;
    void give_back(std::unique_ptr<Connection> connection) noexcept;
    std::unique_ptr<Connection> take_idle_or_slot(std::stop_token stop);

    // Constant after construction.
    const Connect connect_;
    const std::size_t max_;
    const Duration wait_;

    base::Mutex mutex_;
    base::CondVar freed_;
    std::vector<std::unique_ptr<Connection>> idle_ POSTROOM_GUARDED_BY(mutex_);
    std::size_t on_loan_ POSTROOM_GUARDED_BY(mutex_) = 0;
};

}  // namespace postroom::sql
