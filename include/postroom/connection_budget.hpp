// ConnectionBudget: how many connections all stores that share it may have open together.
//
//   auto budget = std::make_shared<ConnectionBudget>(64);
//   auto north = open_store("sqlite:north.db", {.budget = budget});
//   auto south = open_store("sqlite:south.db", {.budget = budget});
//
// A store that needs a connection while the budget is used up closes the one that has been idle for
// the longest time, of whatever store. While all of them are in use it waits, as for its own pool,
// up to `pool_wait`. An eighth of the budget is kept for the renewal of leases, so that handlers
// which hold on to connections do not lose their messages by it; at most half of it may be held by
// doorbells that listen on a connection of their own.
//
// Thread safety: may be shared between threads and stores.
#pragma once

#include <cstddef>
#include <memory>

namespace postroom {

class ConnectionBudget {
public:
    // Throws std::invalid_argument for less than 2.
    explicit ConnectionBudget(std::size_t connections_max);
    ~ConnectionBudget();
    ConnectionBudget(const ConnectionBudget&) = delete;
    ConnectionBudget& operator=(const ConnectionBudget&) = delete;

    std::size_t connections_max() const;
    // Now, in use or idle.
    std::size_t open() const;
    // The most there ever were at the same time.
    std::size_t open_peak() const;

    // What the stores work with.
    class Ledger;
    const std::shared_ptr<Ledger>& ledger() const { return ledger_; }

private:
    const std::shared_ptr<Ledger> ledger_;
};

}  // namespace postroom
