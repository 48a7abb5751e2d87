#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <thread>

#include "daemon/end_watch.hpp"
#include "daemon/log_lines.hpp"
#include "daemon/relay.hpp"
#include "daemon/service_manager.hpp"
#include "observe/log_line.hpp"

namespace postroom::daemon {

namespace {

constexpr std::chrono::milliseconds patience{20};  // between two looks at a relay in the making

sigset_t operator_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    return set;
}

LogLine line(std::string name) { return {std::move(name), value_chars_max}; }

void tell_ready(const ServiceManager& manager, const RelayPlan& plan, const Relay& relay,
                std::string name) {
    write_log(plan.log, LogLevel::info,
              line(std::move(name))
                  .add("stores", std::uint64_t{relay.stores_open()})
                  .add("sinks", std::uint64_t{plan.sinks.size()})
                  .add("routes", std::uint64_t{plan.routes.size()})
                  .add("pid", static_cast<std::uint64_t>(::getpid()))
                  .text());
    manager.ready(fmt::format("Stores open: {}, sinks: {}, routes: {}", relay.stores_open(),
                              plan.sinks.size(), plan.routes.size()));
}

void tell_stopped(const RelayPlan& plan, const Relay& relay) {
    write_log(plan.log, LogLevel::info,
              line("RELAY_STOPPED").add("delivered", relay.delivered()).text());
}

// A relay that is whole but has taken nothing, with its plan.
struct Prepared {
    RelayPlan plan{};
    std::unique_ptr<Relay> relay{};
};

// Makes one while the signals are heard; nullopt when a stop came first: then the making goes on in
// its thread, and the process has to be ended around it.
std::optional<Prepared> prepare(const Signals& signals, const ServiceManager& manager,
                                const std::function<RelayPlan()>& load, const OpenStore& open,
                                bool& reload_again) {
    std::packaged_task<Prepared()> making([load, open] {
        Prepared made{.plan = load()};
        made.relay = std::make_unique<Relay>(made.plan, open);
        return made;
    });
    std::future<Prepared> made = making.get_future();
    std::thread maker(std::move(making));
    Heartbeat heart(manager);
    while (made.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
        heart.beat();
        const std::optional<Request> request = signals.wait(patience);
        if (request == Request::stop) {
            maker.detach();
            return std::nullopt;
        }
        if (request == Request::reload) reload_again = true;
    }
    maker.join();
    return made.get();
}

[[noreturn]] void end_process() {
    std::fflush(nullptr);
    std::_Exit(0);
}

void stop(const Signals& signals, const ServiceManager& manager, const Prepared& running) {
    manager.stopping();
    write_log(running.plan.log, LogLevel::info, line("RELAY_STOPPING").text());
    const EndWatch watch(signals, manager, *running.relay, running.plan, true);
    running.relay->stop();
    tell_stopped(running.plan, *running.relay);
}

// The new relay is whole before the old one is stopped: a config that does not work changes
// nothing. Returns whether to do it once more.
bool reload(const Signals& signals, const ServiceManager& manager, Prepared& running,
            const std::function<RelayPlan()>& load, const OpenStore& open) {
    manager.reloading();
    bool again = false;
    std::optional<Prepared> next;
    try {
        next = prepare(signals, manager, load, open, again);
    } catch (const std::exception& error) {
        write_log(running.plan.log, LogLevel::error,
                  line("RELAY_RELOAD_REFUSED").add("error", error.what()).text());
        manager.ready("The new configuration was refused; the old one is at work");
        return again;
    }
    if (!next) {
        stop(signals, manager, running);
        end_process();
    }
    {
        const EndWatch watch(signals, manager, *running.relay, running.plan, false);
        running.relay->stop();
        tell_stopped(running.plan, *running.relay);
        if (watch.stop_asked()) end_process();
        again = again || watch.reload_asked();
    }
    next->relay->start();
    running = std::move(*next);
    tell_ready(manager, running.plan, *running.relay, "RELAY_RELOADED");
    return again;
}

Request next_request(const Signals& signals, const ServiceManager& manager) {
    if (!manager.alive_every()) return signals.wait();
    for (;;) {
        manager.alive();
        if (const std::optional<Request> request = signals.wait(*manager.alive_every()))
            return *request;
    }
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

std::optional<Request> Signals::wait(std::chrono::milliseconds time) const {
    const sigset_t set = operator_signals();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec limit{
        .tv_sec = static_cast<time_t>(seconds.count()),
        .tv_nsec = static_cast<long>(std::chrono::nanoseconds(time - seconds).count())};
    const int signal = sigtimedwait(&set, nullptr, &limit);
    if (signal < 0) return std::nullopt;
    return signal == SIGHUP ? Request::reload : Request::stop;
}

void Signals::let_through() const {
    sigset_t set = operator_signals();
    sigdelset(&set, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void run_relay(const Signals& signals, const std::function<RelayPlan()>& load,
               const OpenStore& open) {
    const ServiceManager manager;
    bool reload_wanted = false;
    std::optional<Prepared> running = prepare(signals, manager, load, open, reload_wanted);
    if (!running) end_process();
    running->relay->start();
    tell_ready(manager, running->plan, *running->relay, "RELAY_READY");
    while (reload_wanted || next_request(signals, manager) == Request::reload)
        reload_wanted = reload(signals, manager, *running, load, open);
    stop(signals, manager, *running);
}

}  // namespace postroom::daemon
