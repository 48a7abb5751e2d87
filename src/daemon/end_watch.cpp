#include "daemon/end_watch.hpp"

#include <cstdio>
#include <cstdlib>

#include "cli/exit_code.hpp"
#include "daemon/log_lines.hpp"
#include "observe/log_line.hpp"

namespace postroom::daemon {

namespace {

constexpr std::chrono::milliseconds watch_interval{50};

using Time = std::chrono::steady_clock::time_point;

}  // namespace

EndWatch::EndWatch(const Signals& signals, const ServiceManager& manager, const Relay& relay,
                   const RelayPlan& plan, bool stopping)
    : signals_(signals),
      manager_(manager),
      relay_(relay),
      log_(plan.log),
      limit_(std::chrono::ceil<std::chrono::milliseconds>(plan.dispatcher.drain_timeout) + grace),
      stop_asked_(stopping),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void EndWatch::run(const std::stop_token& stop) {
    bool stopping = stop_asked_;
    Time end = std::chrono::steady_clock::now() + limit_;
    if (stopping) signals_.let_through();
    Heartbeat heart(manager_);
    // A reload that hangs is for the service manager to end.
    const Time alive_until = std::chrono::steady_clock::now() + 4 * limit_;
    while (!stop.stop_requested()) {
        if (std::chrono::steady_clock::now() < alive_until) heart.beat();
        if (stopping) {
            if (std::chrono::steady_clock::now() >= end) give_up();
            std::this_thread::sleep_for(watch_interval);
            continue;
        }
        const std::optional<Request> request = signals_.wait(watch_interval);
        if (request == Request::reload) reload_asked_ = true;
        if (request != Request::stop) continue;
        stop_asked_ = stopping = true;
        end = std::chrono::steady_clock::now() + limit_;
        signals_.let_through();
    }
}

void EndWatch::give_up() const {
    for (const StoreWait& wait : relay_.waits())
        write_log(log_, LogLevel::warning,
                  LogLine("RELAY_STOP_WAITS", value_chars_max)
                      .add("store", wait.store)
                      .add("operation", wait.operation)
                      .add("unanswered_ms", wait.waited)
                      .text());
    write_log(
        log_, LogLevel::error,
        LogLine("RELAY_STOP_FORCED", value_chars_max).add("after_ms", Duration(limit_)).text());
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(cli::ExitCode::unavailable));
}

}  // namespace postroom::daemon
