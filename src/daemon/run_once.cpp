#include <algorithm>

#include "daemon/end_watch.hpp"
#include "daemon/log_lines.hpp"
#include "daemon/relay.hpp"
#include "observe/log_line.hpp"

namespace postroom::daemon {

namespace {

constexpr std::chrono::milliseconds look_interval{20};

void tell(const RelayPlan& plan, const OnceResult& result) {
    write_log(plan.log, LogLevel::info,
              LogLine("RELAY_ONCE", value_chars_max)
                  .add("delivered", result.delivered)
                  .add("left", result.left)
                  .text());
}

}  // namespace

// Nobody is listened to: whoever hears each writer does not look where nobody wrote, and here it is
// looking that tells when everything is done.
OnceResult run_once(const Signals& signals, RelayPlan plan, const OpenStore& open) {
    plan.dispatcher.wake_ups = false;
    Relay relay(plan, open);
    relay.start();
    OnceResult result;
    while (!result.stopped && !relay.finished_due())
        result.stopped = signals.wait(look_interval) == Request::stop;
    {
        const ServiceManager manager;
        const EndWatch watch(signals, manager, relay, plan, result.stopped);
        relay.stop();
        result.stopped = watch.stop_asked();
    }
    result.delivered = relay.delivered();
    result.left = relay.undelivered();
    result.unavailable = relay.any_store_failed() || relay.stores_open() < plan.stores.size();
    tell(plan, result);
    return result;
}

void run_every(const Signals& signals, std::chrono::milliseconds interval,
               const std::function<RelayPlan()>& load, const OpenStore& open) {
    while (true) {
        const auto next = std::chrono::steady_clock::now() + interval;
        if (run_once(signals, load(), open).stopped) return;
        const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(
            next - std::chrono::steady_clock::now());
        // A reload just means that the next run comes now: each run reads the configuration.
        if (signals.wait(std::max(pause, std::chrono::milliseconds{0})) == Request::stop) return;
    }
}

}  // namespace postroom::daemon
