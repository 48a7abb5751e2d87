// InFlight: every message this dispatcher holds a lease on, from the claim until it is settled; so
// that none is handled twice at the same time, and leases are renewed in time. Pure.
//
// Times are the dispatcher's own. A lease is counted from before the call that took it, so it ends
// here no later than in the database.
#pragma once

#include <cstddef>
#include <list>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "postroom/message.hpp"

namespace postroom {

class InFlight {
public:
    // With a `ttl` above zero a handler that runs longer is given up: its lease is not renewed any
    // more, and the message may be handled again.
    InFlight(Duration lease, Duration ttl) : lease_(lease), ttl_(ttl) {}

    enum class Stage : std::uint8_t { waiting, running, settling };

    // False when the message is held already, or a handler that lost it has not returned yet: then
    // this lease is not for use.
    bool add(const Lease& lease, Instant taken_at);

    // Whether this very lease is held and will still be at `now`.
    bool holds(const Lease& lease, Instant now) const;

    // A handler is called. `stop` is requested by others when the lease is lost.
    void start(const Lease& lease, const std::stop_source& stop, Instant now);
    // The handler has returned. False when the lease was lost meanwhile; then nothing is held.
    bool finish(const Lease& lease);
    void remove(const Lease& lease);

    // Of the handler that runs with it, if any.
    std::stop_source stop_of(const Lease& lease) const;
    // Of all handlers that run.
    std::vector<std::stop_source> running() const;

    // What has to be renewed now, oldest first, at most `limit`.
    std::vector<Lease> due(Instant now, std::size_t limit) const;
    // Handlers beyond their ttl: nothing is held any more. To be asked for before due().
    std::vector<std::stop_source> give_up(Instant now);
    // Answers to due(): renewed, as of `asked_at`; to be asked again; lost.
    void renewed(const Lease& lease, Instant asked_at);
    void postpone(const Lease& lease, Instant until);
    struct Lost {
        bool news = false;                        // it was neither settled nor forgotten meanwhile
        std::stop_source stop{std::nostopstate};  // of the handler that runs with it, if any
    };
    Lost lost(const Lease& lease);
    // When due() has something again; Instant::max() when nothing is held.
    Instant next_due() const;

    std::size_t size() const { return held_.size(); }

private:
    struct Held {
        Lease lease{};
        Stage stage = Stage::waiting;
        Instant since{};  // its handler was called
        Instant deadline{};
        Instant renew_at{};
        bool lost = false;  // only while its handler still runs
        std::stop_source stop{std::nostopstate};
        std::list<WorkItemId>::iterator place{};
    };
    const Held* find(const Lease& lease) const;
    Held* find(const Lease& lease);
    void requeue(Held& held, Instant renew_at);
    void erase(const WorkItemId& id);

    const Duration lease_;
    const Duration ttl_;
    std::unordered_map<WorkItemId, Held> held_;
    std::list<WorkItemId> order_;  // by renew_at
};

}  // namespace postroom
