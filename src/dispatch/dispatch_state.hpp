// DispatchState: everything in a dispatcher that changes, with the questions that concern several
// parts of it. SharedState has one, and only a StateLock or a StateView leads to it.
//
// Thread safety: DispatchState is used by whoever holds the lock; SharedState may be shared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "dispatch/born_leases.hpp"
#include "dispatch/circuit.hpp"
#include "dispatch/claim_pacer.hpp"
#include "dispatch/dispatch_queues.hpp"
#include "dispatch/dispatch_setup.hpp"
#include "dispatch/effects.hpp"
#include "dispatch/in_flight.hpp"
#include "dispatch/isolation.hpp"
#include "dispatch/paused_topics.hpp"
#include "dispatch/settler.hpp"
#include "postroom/observer.hpp"

namespace postroom {

struct DispatchState {
    // What the next report of this dispatcher is about.
    struct Reports {
        void count(const Settlement& settlement, Settled settled) {
            if (settled == Settled::lost) return;
            if (settlement.outcome == Outcome::ack) ++delivered;
            if (is_failed_attempt(settlement.outcome, settlement.reason)) ++failed;
        }

        std::uint64_t delivered = 0;
        std::uint64_t failed = 0;
        bool circuit_changed = false;
        bool idle = false;  // the last one said that nothing happens
    };

    // A hand-over that a savepoint may have taken back.
    struct Unverified {
        Message message{};
        Instant at{};
    };

    explicit DispatchState(const DispatchSetup& setup);

    // As many outcomes wait to be settled as there may be messages.
    bool overloaded() const;
    std::size_t claim_room() const;
    // Nothing runs, nothing claimed waits, nothing is left to settle.
    bool quiet() const {
        return running == 0 && settling == 0 && settler.empty() && queues.cold_size() == 0;
    }
    bool async_full() const { return running_async >= options.async_max; }
    // How many messages workers could take now.
    std::size_t startable() const;
    bool expired(const Message& message, Instant now) const {
        return message.expires_at && offset && *message.expires_at <= now + *offset;
    }
    // Whether somebody waits for the outcome: another message of its key, or an isolated one; or
    // whoever is to have it next.
    bool hurries(const Message& message, const Settlement& settlement) const;

    // When the keeper has something to do: a lease to renew, or an isolation to end.
    Instant keeper_due() const { return std::min(in_flight.next_due(), isolation.ends_by()); }

    // The event that tells how full it is.
    Event depths() const;

    // Something that operators should not have to wait for.
    bool report_due() const {
        return reports.circuit_changed || (reports.idle && in_flight.size() > 0);
    }

    // A message that waits is not to be started. If it was lost before, nothing else is started
    // until the store has been told: a crash would count as one more loss of it.
    void settle_unstarted(Message message, Settlement settlement, Instant now);
    // Without a word it would only be claimed when its lease has run out.
    void release_at_close(Message message, Instant now);
    // One that a savepoint has taken back is not there to be released: a lost lease.
    void release_unverified(Instant now);
    // Only the observer wants the message, and no content.
    Outgoing outgoing(Message& message, Settlement settlement, Instant started,
                      Instant ended) const;
    void accept_hot(Message message, Instant reserved_at);
    // Has the next claim come with the next turn of a message that waits for one.
    void expect_turns(Instant now);
    // A message that was taken in with care is not started, or has ended.
    void leave(Care care, const WorkItemId& id, Instant now);

    const DispatcherOptions& options;

    // Coming in.
    ClaimPacer pacer;
    BornLeases born;
    std::vector<Unverified> unverified{};
    PausedTopics paused{};
    // Rates that messages of this store wait for, and until when: claims come with their turns. The
    // setup keeps them alive.
    std::map<const SendRate*, Instant> slowed{};
    std::optional<Duration> offset{};  // the database's clock minus ours, once it is known
    // Waiting and running.
    DispatchQueues queues;
    Isolation isolation;
    Circuits circuits;
    std::size_t running = 0;
    std::size_t running_async = 0;
    // Leases.
    InFlight in_flight;
    Instant keeper_comes = Instant::max();
    // Going out.
    Settler settler;
    std::size_t settling = 0;  // taken from the settler, not back yet
    // Messages that were lost before and not started, or delivered in isolation, of which the store
    // was not told yet: nothing else starts.
    std::size_t untold = 0;
    std::size_t notifying = 0;  // handlers that have ended, on their way to the observer
    Reports reports{};
    // The end.
    bool closing = false;
    bool closed = false;
};

// Nothing but the two classes below leads to the state, so it cannot be touched without the lock.
class SharedState {
public:
    explicit SharedState(const DispatchSetup& setup) : state_(setup) {}

private:
    friend class StateLock;
    friend class StateView;

    DispatchState& lock() POSTROOM_NO_THREAD_SAFETY_ANALYSIS {
        mutex_.lock();
        return state_;
    }
    const DispatchState& lock() const POSTROOM_NO_THREAD_SAFETY_ANALYSIS {
        mutex_.lock();
        return state_;
    }
    void unlock() const POSTROOM_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

    mutable base::Mutex mutex_;
    DispatchState state_ POSTROOM_GUARDED_BY(mutex_);
};

// Holds the state for a scope. What has changed by its end decides who is woken.
class StateLock {
public:
    // `effects` must outlive this, and so is to be declared before.
    StateLock(SharedState& shared, Effects& effects);
    ~StateLock();
    StateLock(const StateLock&) = delete;
    StateLock& operator=(const StateLock&) = delete;

    DispatchState* operator->() const { return &state_; }
    DispatchState& operator*() const { return state_; }

private:
    SharedState& shared_;
    DispatchState& state_;
    Effects& effects_;
    const std::size_t startable_;
    const bool room_;
    const Instant settler_comes_;
    const bool report_due_;
    const bool holds_some_;
};

// Holds the state for a scope, to look at it.
class StateView {
public:
    explicit StateView(const SharedState& shared) : shared_(shared), state_(shared.lock()) {}
    ~StateView() { shared_.unlock(); }
    StateView(const StateView&) = delete;
    StateView& operator=(const StateView&) = delete;

    const DispatchState* operator->() const { return &state_; }

private:
    const SharedState& shared_;
    const DispatchState& state_;
};

}  // namespace postroom
