// Relay: delivers the outboxes of several stores to sinks, as a plan says.
//
// Thread safety: one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/relay_plan.hpp"
#include "postroom/discovery.hpp"

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
    // The same for so long at most; nullopt when none came.
    std::optional<Request> wait(std::chrono::milliseconds time) const;
    // From now on another SIGTERM or SIGINT ends the process at once.
    void let_through() const;
};

// Runs a relay until it is asked to stop. `load` gives the plan, for the start and for each reload;
// what it or the new relay throws comes out at the start, and is logged at a reload while the old
// one goes on. Returns when everything is settled. A stop that comes while a relay is being made,
// which may wait long for a database that does not answer, settles what there is and ends the
// process with 0: a relay that has not been started holds nothing.
void run_relay(const Signals& signals, const std::function<RelayPlan()>& load,
               const OpenStore& open);

}  // namespace postroom::daemon
