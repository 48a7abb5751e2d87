// ServiceManager: tells systemd, or whoever set NOTIFY_SOCKET, how a service is doing.
//
// The protocol is a datagram of NAME=VALUE lines; sd_notify(3) describes it. Without NOTIFY_SOCKET
// nobody is told anything. A message that cannot be sent is dropped: the service goes on without.
//
// Thread safety: immutable after construction.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace postroom::daemon {

class ServiceManager {
public:
    // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
    ServiceManager();

    void ready(std::string_view status) const;
    void reloading() const;
    void stopping() const;
    void alive() const;

    // How often alive() has to be called; nullopt: nobody watches.
    std::optional<std::chrono::milliseconds> alive_every() const { return alive_every_; }

private:
    void send(std::string_view message) const;

    const std::string socket_;
    const std::optional<std::chrono::milliseconds> alive_every_;
};

// Heartbeat: calls alive() as often as it has to be, from a loop that asks more often.
//
// Thread safety: one thread.
class Heartbeat {
public:
    // `manager` must outlive this.
    explicit Heartbeat(const ServiceManager& manager) : manager_(manager) {}
    void beat();

private:
    const ServiceManager& manager_;
    std::chrono::steady_clock::time_point next_{};
};

}  // namespace postroom::daemon
