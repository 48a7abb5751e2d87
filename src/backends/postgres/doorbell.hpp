// The doorbell of PostgreSQL: NOTIFY and LISTEN, each on a connection of its own.
//
// A NOTIFY inside a business transaction would make commits wait for one another, because the
// server hands out notifications in the order of commits, under one lock. So rings are sent after
// the commit and outside of it, and few of them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "backends/postgres/conninfo.hpp"
#include "backends/postgres/link.hpp"
#include "base/mutex.hpp"
#include "postroom/store.hpp"
#include "postroom/tenancy.hpp"

namespace postroom::postgres {

// What both sides keep to.
struct DoorbellLimits {
    // One NOTIFY in this time at most. Further rings are dropped, not kept: who was woken looks
    // again soon, and polls.
    std::chrono::milliseconds ring_interval{2};
    // Between the beginnings of two attempts to connect.
    std::chrono::milliseconds connect_interval{1000};
    // How long a ring() lasts at most while it connects; the next one goes on with it.
    std::chrono::milliseconds ring_patience{200};
    // A server that has not let us in, or not answered, for this long is given up.
    std::chrono::milliseconds answer_limit{5000};
};

// The channel of the queue `name`: within the 63 bytes of an identifier, whatever the name.
std::string channel_of(const std::string& name);

// Ringer: sends notifications and does not wait for what becomes of them.
//
// Thread safety: ring() may be called concurrently.
class Ringer {
public:
    Ringer(Conninfo conninfo, const std::string& channel, const DoorbellLimits& limits = {});

    void ring() noexcept;

private:
    using Time = Link::Time;

    void ring_at(Time now) POSTROOM_REQUIRES(mutex_);
    void leave_dead_link(Time now) POSTROOM_REQUIRES(mutex_);
    bool connect(Time now) POSTROOM_REQUIRES(mutex_);

    const DoorbellLimits limits_;
    const Conninfo conninfo_;
    const std::string statement_;

    base::Mutex mutex_;
    std::optional<Link> link_ POSTROOM_GUARDED_BY(mutex_);
    std::optional<Time> last_attempt_ POSTROOM_GUARDED_BY(mutex_);
    std::optional<Time> last_sent_ POSTROOM_GUARDED_BY(mutex_);
};

// Listener: hears the notifications of one channel.
//
// Thread safety: one thread at a time.
class Listener {
public:
    Listener(Conninfo conninfo, const std::string& channel, const DoorbellLimits& limits = {});

    // As Doorbell::wait(). True also when it has just begun to listen, for the first time or again:
    // nobody knows what was missed. After a loss it throws once; the next call connects again.
    bool wait(Duration timeout, std::stop_token stop);

    // As the functions of Doorbell that have these names.
    void listen(std::stop_token stop);
    bool look();
    int descriptor() const;

private:
    using Time = Link::Time;
    enum class Stage { connecting, asking, listening };

    bool listening() const { return link_ && stage_ == Stage::listening; }
    bool wait_until(Time deadline, const StopSignal& stop);
    bool start_link(Time deadline, const StopSignal& stop);
    // One step without waiting. True: there is something to tell.
    bool step();

    const DoorbellLimits limits_;
    const Conninfo conninfo_;
    const std::string statement_;

    std::optional<Link> link_;
    std::optional<Time> last_attempt_;
    Stage stage_ = Stage::connecting;
};

// Connections to listen and to ring need a place in `budget`, if there is one; without it the bell
// is silent. Through a transaction pooler (`pooled`) one can ring but not listen, as the server
// connection belongs to somebody else between two transactions: wait() sleeps and returns false.
std::unique_ptr<Doorbell> make_doorbell(const Conninfo& conninfo, const std::string& name,
                                        bool pooled,
                                        std::shared_ptr<ConnectionBudget> budget = nullptr);

}  // namespace postroom::postgres
