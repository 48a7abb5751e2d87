// Relay: delivers the outboxes of several stores to sinks, as a plan says.
//
// Thread safety: one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/relay_plan.hpp"
#include "postroom/tenancy.hpp"

namespace postroom::daemon {

class Relay {
public:
    // Makes the sinks and opens the stores, but takes no message yet. A store that cannot be opened
    // is logged and tried again as long as there is another; when there is none, the error of the
    // first comes out. `open` is open_store() with whatever the program checks besides; what it
    // throws other than Error comes out too.
    Relay(RelayPlan plan, OpenStore open);
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    void start();
    // Finishes what is on its way, releases the rest, closes the sinks. Stopping again does
    // nothing.
    void stop();

    std::size_t stores_open() const;
    std::uint64_t delivered() const;
    // Messages that were due and are not delivered: to be tried again, dead, given back, or not
    // even claimed.
    std::uint64_t undelivered() const;
    // Whether everything that was due when this was last asked, and all that it made due, has been
    // handled. Asking makes the relay look. Where the stores have messages that claims do not
    // bring for long, it gives up on those.
    bool finished_due();
    bool any_store_failed() const;
    // Which stores do not answer at this moment. Also while another thread stops the relay.
    std::vector<StoreWait> waits() const;

private:
    class Parts;
    const std::unique_ptr<Parts> parts_;
};

// What the operator's signals ask for.
enum class Request { stop, reload };

// Signals: SIGTERM and SIGINT ask for a stop, SIGHUP for a reload. To be made before any thread, so
// that all of them leave the signals to wait().
class Signals {
public:
    Signals();
    Request wait() const;
    // Waits for `time` at most; nullopt when no signal came.
    std::optional<Request> wait(std::chrono::milliseconds time) const;
    // From now on another SIGTERM or SIGINT ends the process at once.
    void let_through() const;
};

// What one round brought.
struct OnceResult {
    std::uint64_t delivered = 0;
    std::uint64_t left = 0;    // see Relay::undelivered()
    bool unavailable = false;  // a store could not be opened, or failed
    bool stopped = false;      // it was asked to stop before it was through
};

// Delivers what is due and returns. What the relay throws comes out.
OnceResult run_once(const Signals& signals, RelayPlan plan, const OpenStore& open);
// Calls run_once() again and again, `interval` from one beginning to the next, until it is asked to
// stop.
void run_every(const Signals& signals, std::chrono::milliseconds interval,
               const std::function<RelayPlan()>& load, const OpenStore& open);

// Runs a relay until it is asked to stop. `load` gives the plan, for the start and for each reload;
// what it or the new relay throws comes out at the start, and is logged at a reload while the old
// one goes on. Returns when everything is settled. A stop that comes while a relay is being made,
// which may wait long for a database that does not answer, settles what there is and ends the
// process with 0: a relay that has not been started holds nothing.
void run_relay(const Signals& signals, const std::function<RelayPlan()>& load,
               const OpenStore& open);

}  // namespace postroom::daemon
