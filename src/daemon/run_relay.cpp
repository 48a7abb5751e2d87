#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#include "daemon/log_lines.hpp"
#include "daemon/relay.hpp"
#include "queue/log_line.hpp"

namespace postroom::daemon {

namespace {

constexpr std::size_t value_chars_max = 1000;

sigset_t operator_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    return set;
}

LogLine line(std::string name) { return {std::move(name), value_chars_max}; }

void tell_ready(const RelayPlan& plan, const Relay& relay, std::string name) {
    write_log(plan.log, LogLevel::info,
              line(std::move(name))
                  .add("stores", std::uint64_t{relay.stores_open()})
                  .add("sinks", std::uint64_t{plan.sinks.size()})
                  .add("routes", std::uint64_t{plan.routes.size()})
                  .add("pid", static_cast<std::uint64_t>(::getpid()))
                  .text());
}

void tell_stopped(const RelayPlan& plan, const Relay& relay) {
    write_log(plan.log, LogLevel::info,
              line("RELAY_STOPPED").add("delivered", relay.delivered()).text());
}

// The new relay is whole before the old one is stopped: a config that does not work changes
// nothing.
std::unique_ptr<Relay> prepared(const RelayPlan& now, RelayPlan& next_plan,
                                const std::function<RelayPlan()>& load, const OpenStore& open) {
    try {
        next_plan = load();
        return std::make_unique<Relay>(next_plan, open);
    } catch (const std::exception& error) {
        write_log(now.log, LogLevel::error,
                  line("RELAY_RELOAD_REFUSED").add("error", error.what()).text());
        return nullptr;
    }
}

void reload(RelayPlan& plan, std::unique_ptr<Relay>& relay, const std::function<RelayPlan()>& load,
            const OpenStore& open) {
    RelayPlan next_plan;
    std::unique_ptr<Relay> next = prepared(plan, next_plan, load, open);
    if (!next) return;
    relay->stop();
    tell_stopped(plan, *relay);
    next->start();
    relay = std::move(next);
    plan = std::move(next_plan);
    tell_ready(plan, *relay, "RELAY_RELOADED");
}

}  // namespace

Signals::Signals() {
    const sigset_t set = operator_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    // A sink whose reader has gone is told so by the write.
    std::signal(SIGPIPE, SIG_IGN);
}

Request Signals::wait() const {
    const sigset_t set = operator_signals();
    int signal = 0;
    while (sigwait(&set, &signal) != 0) {
    }
    return signal == SIGHUP ? Request::reload : Request::stop;
}

void Signals::let_through() const {
    sigset_t set = operator_signals();
    sigdelset(&set, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void run_relay(const Signals& signals, RelayPlan plan, const std::function<RelayPlan()>& load,
               const OpenStore& open) {
    auto relay = std::make_unique<Relay>(plan, open);
    relay->start();
    tell_ready(plan, *relay, "RELAY_READY");
    while (signals.wait() == Request::reload) reload(plan, relay, load, open);
    write_log(plan.log, LogLevel::info, line("RELAY_STOPPING").text());
    signals.let_through();
    relay->stop();
    tell_stopped(plan, *relay);
}

}  // namespace postroom::daemon
