// EndWatch: ends the process when a relay that was asked to stop does not, whatever it waits for.
//
// A database that does not answer may hold a relay for as long as a statement may take. What the
// relay held is released by nobody then: its leases run out, and others deliver.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

#include "daemon/relay.hpp"
#include "daemon/service_manager.hpp"

namespace postroom::daemon {

class EndWatch {
public:
    // Beyond the drain_timeout: what the rest of an orderly end may take.
    static constexpr std::chrono::milliseconds grace{4500};

    // From now on until this object ends. `stopping`: the operator has asked for an end; otherwise
    // that is listened for, and so is a reload. `signals`, `manager` and `relay` must outlive it.
    EndWatch(const Signals& signals, const ServiceManager& manager, const Relay& relay,
             const RelayPlan& plan, bool stopping);
    EndWatch(const EndWatch&) = delete;
    EndWatch& operator=(const EndWatch&) = delete;

    // What was asked for meanwhile.
    bool stop_asked() const { return stop_asked_; }
    bool reload_asked() const { return reload_asked_; }

private:
    void run(const std::stop_token& stop);
    [[noreturn]] void give_up() const;

    const Signals& signals_;
    const ServiceManager& manager_;  // is told meanwhile that the process lives
    const Relay& relay_;
    const LogPlan log_;
    const std::chrono::milliseconds limit_;
    std::atomic<bool> stop_asked_;
    std::atomic<bool> reload_asked_{false};
    std::jthread thread_;  // last: it uses all of the above
};

}  // namespace postroom::daemon
