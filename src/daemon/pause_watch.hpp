// PauseWatch: keeps a relay's paused topics as the stores say.
//
// Each store keeps its own list (operator.hpp). It is looked at once a second; of more than
// twenty stores, twenty are looked at each second, so that thousands of them cost no more.
//
// Thread safety: one thread owns it. It has a thread of its own.
#pragma once

#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "daemon/relay_plan.hpp"
#include "postroom/dispatcher.hpp"
#include "postroom/tenancy.hpp"

namespace postroom::daemon {

class PauseWatch {
public:
    // All of them must outlive this.
    PauseWatch(const LogPlan& log, const StoreProvider& stores, Dispatcher& dispatcher)
        : log_(log), stores_(stores), dispatcher_(dispatcher) {}

    // Looks once, so that nothing is delivered that was paused before, then goes on by itself.
    void start();
    // Does not wait for a look that is under way; the destructor does.
    void request_stop() { thread_.request_stop(); }

private:
    void run(const std::stop_token& stop);
    void look_at_all(const std::stop_token& stop);
    void look_at(Store& store);

    const LogPlan& log_;
    const StoreProvider& stores_;
    Dispatcher& dispatcher_;
    // The thread's, once it runs.
    std::map<std::string, std::set<std::string>> paused_;  // by store
    std::set<std::string> refused_;                        // stores of which that was told
    std::jthread thread_;
};

}  // namespace postroom::daemon
