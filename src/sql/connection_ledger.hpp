// Ledger: who may open a connection, and the connections that are idle, of all pools that share it.
//
// The idle ones are kept here and not in their pools, in the order in which they became idle, so
// that a pool in need can have another's oldest one closed without two locks.
//
// Thread safety: may be shared.
#pragma once

#include <cstddef>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"
#include "postroom/tenancy.hpp"
#include "sql/connection.hpp"

namespace postroom {

class ConnectionBudget::Ledger {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    explicit Ledger(std::size_t connections_max);

    // One pool's part. Its counters belong to the ledger's mutex.
    struct Part {
        std::size_t connections_max = 0;
        bool essential = false;  // may use what is kept back from the others
        std::size_t on_loan = 0;
        std::size_t idle = 0;
    };

    // An idle connection of `part`, or room for a new one.
    struct Loan {
        std::unique_ptr<sql::Connection> connection{};
        // Another's, to be closed before a new one is opened.
        std::unique_ptr<sql::Connection> displaced{};
    };
    // nullopt: nothing came free within `wait`, or `stop` was requested.
    std::optional<Loan> take(Part& part, Duration wait, std::stop_token stop);

    // The end of a loan. A connection that is sound is kept; nullptr: there is none any more.
    void give_back(Part& part, std::unique_ptr<sql::Connection> sound) noexcept;

    // Closes what is idle of `part`.
    void forget(Part& part);

    // Room for a connection that is not of a pool; false: there is none.
    bool reserve();
    void unreserve() noexcept;

    std::size_t connections_max() const { return max_; }
    std::size_t open() const;
    std::size_t open_peak() const;

private:
    struct Idle {
        Part* part = nullptr;
        std::unique_ptr<sql::Connection> connection{};
    };
    using Place = std::list<Idle>::iterator;

    // Whether make_room() can, for one that is essential or for one that is not.
    bool has_room(bool essential) const POSTROOM_REQUIRES(mutex_);
    bool may_take(const Part& part) const POSTROOM_REQUIRES(mutex_);
    std::unique_ptr<sql::Connection> take_idle_of(Part& part) POSTROOM_REQUIRES(mutex_);
    std::unique_ptr<sql::Connection> take_idle(Place place) POSTROOM_REQUIRES(mutex_);
    // Counts one more; with none to spare, the one that is returned has to go.
    std::unique_ptr<sql::Connection> make_room(bool essential) POSTROOM_REQUIRES(mutex_);
    void count_closed(bool essential, std::size_t count) POSTROOM_REQUIRES(mutex_);

    const std::size_t max_;
    const std::size_t ordinary_max_;

    mutable base::Mutex mutex_;
    base::CondVar freed_;
    std::list<Idle> idle_ POSTROOM_GUARDED_BY(mutex_);  // the longest idle first
    std::size_t ordinary_idle_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::size_t open_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::size_t ordinary_open_ POSTROOM_GUARDED_BY(mutex_) = 0;  // of them; the rest is essential
    std::size_t open_peak_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::size_t reserved_ POSTROOM_GUARDED_BY(mutex_) = 0;
};

namespace sql {

// ReservedConnection: one place in a budget, for a connection outside of the pools. Without a
// budget there is always one.
class ReservedConnection {
public:
    // nullopt: the budget has no place for it.
    static std::optional<ReservedConnection> of(const std::shared_ptr<ConnectionBudget>& budget);
    ReservedConnection(ReservedConnection&& other) noexcept = default;
    ReservedConnection& operator=(ReservedConnection&& other) noexcept {
        ledger_.swap(other.ledger_);
        return *this;
    }
    ~ReservedConnection();

private:
    explicit ReservedConnection(std::shared_ptr<ConnectionBudget::Ledger> ledger)
        : ledger_(std::move(ledger)) {}

    std::shared_ptr<ConnectionBudget::Ledger> ledger_;
};

}  // namespace sql

}  // namespace postroom
