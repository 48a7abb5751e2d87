// WriteGroup: group commit inside the process, for databases whose writers take turns.
//
// Each thread brings a unit that wants a transaction of its own. Whoever finds nobody at work
// leads: it opens a transaction, runs its own unit, then those of all who came meanwhile, and
// commits once for all of them. Nobody returns before that commit. The first of those who came too
// late leads next. A thread that is alone does what it would have done without a group, and waits
// for nothing. Transactions that are not shared stand in the same line, so that groups do not crowd
// them out; those that renew leases stand at its front.
//
// Thread safety: may be shared.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"
#include "postroom/error.hpp"
#include "sql/connection.hpp"
#include "sql/group_place.hpp"
#include "sql/pool.hpp"

namespace postroom::sql {

// What one thread wants written. Another thread may run it, while the one that brought it waits.
struct GroupUnit {
    std::span<const Call> calls;
    const std::function<void()>& restart;  // called before the calls, to forget an earlier try
    const OnRow& on_row;
};

class WriteGroup {
public:
    struct Waits {
        // How long a transaction waits until it can be begun. When it cannot, those in line who
        // have waited for half as long hear that too.
        Duration begin{};
        // How long an urgent one waits for its turn.
        Duration urgent = std::chrono::milliseconds{250};
        // How long a leader takes in those who came meanwhile. The first of a group waits for the
        // last, and other connections and processes for the whole group.
        Duration sharing = std::chrono::milliseconds{10};
    };
    WriteGroup(Pool& pool, const Waits& waits) : pool_(pool), waits_(waits) {}
    WriteGroup(const WriteGroup&) = delete;
    WriteGroup& operator=(const WriteGroup&) = delete;

    // True: committed. False: nothing of it is written and it is to be run alone, because the group
    // broke. Throws as the unit would alone; that a transaction could not be begun, or that the
    // outcome of its commit is unknown, is thrown to everybody concerned.
    bool run(const GroupUnit& unit);

    // The right to begin a transaction in this process.
    class Turn {
    public:
        // Waits for it. Throws what kept those in front from beginning. `urgent`: comes before all
        // who are not; and when whoever is at work keeps it for too long, begins without it.
        explicit Turn(WriteGroup& group, bool urgent = false);
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() { end(); }

        // Passes it on, once.
        void end();
        // Tells those who have waited for long that there is no beginning now.
        void refuse(const Error& error);

    private:
        WriteGroup& group_;
        bool held_ = true;
    };

    // How many stand in line at this moment, behind the one whose turn it is.
    std::size_t waiting() const;

private:
    using Fate = GroupPlace::Fate;

    struct Place : GroupPlace {
        Place(const GroupUnit* brought, bool goes_first) : unit(brought), urgent(goes_first) {}

        const GroupUnit* const unit;  // for as long as its thread waits; nullptr: not shared
        const bool urgent;
        const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    };
    using Places = std::list<std::shared_ptr<Place>>;

    // nullptr: nobody is at work, the caller leads.
    std::shared_ptr<Place> join(const GroupUnit* unit, bool urgent = false);
    // False: its fate has been decided.
    bool leave(const std::shared_ptr<Place>& place);
    bool take_next(Places& followers);
    bool lead(const GroupUnit& own);
    bool write(const GroupUnit& own, Places& followers);
    PooledConnection begin();
    void write_followers(Connection& connection, Places& followers);
    static void run_follower(Connection& connection, Place& place);
    void pass_on();
    void refuse_waiting(const Error& error) noexcept;
    static void tell_all(const Places& places, Fate fate) noexcept;
    static void fail_all(const Places& places, const Error& error) noexcept;

    Pool& pool_;
    const Waits waits_;

    mutable base::Mutex mutex_;
    bool led_ POSTROOM_GUARDED_BY(mutex_) = false;
    Places waiting_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom::sql
