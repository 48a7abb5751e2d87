// Relay: delivers the outboxes of several stores to sinks, as a plan says.
//
// Thread safety: one thread.
#pragma once

#include <functional>
#include <memory>
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
    // From now on another SIGTERM or SIGINT ends the process at once.
    void let_through() const;
};

// Runs a relay until it is asked to stop: a reload calls `load`, and what that or the new relay
// throws is logged while the old one goes on. Returns when everything is settled.
void run_relay(const Signals& signals, RelayPlan plan, const std::function<RelayPlan()>& load,
               const OpenStore& open);

}  // namespace postroom::daemon
