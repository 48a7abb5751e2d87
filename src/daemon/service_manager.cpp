#include "daemon/service_manager.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <ctime>

#include "cli/output/text.hpp"

namespace postroom::daemon {

namespace {

using std::chrono::milliseconds;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Twice within the time after which the service counts as hung.
std::optional<milliseconds> watchdog_period() {
    const std::string pid = variable("WATCHDOG_PID");
    if (!pid.empty() && cli::parse_integer(pid) != ::getpid()) return std::nullopt;
    const std::optional<std::int64_t> microseconds = cli::parse_integer(variable("WATCHDOG_USEC"));
    if (!microseconds || *microseconds <= 0) return std::nullopt;
    return std::max(milliseconds{1}, milliseconds{*microseconds / 2000});
}

std::int64_t monotonic_microseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

ServiceManager::ServiceManager()
    : socket_(variable("NOTIFY_SOCKET")), alive_every_(watchdog_period()) {}

void ServiceManager::ready(std::string_view status) const {
    send(fmt::format("READY=1\nSTATUS={}", status));
}

void ServiceManager::reloading() const {
    send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_microseconds()));
}

void ServiceManager::stopping() const { send("STOPPING=1\nSTATUS=Settling what is on its way"); }

void ServiceManager::alive() const { send("WATCHDOG=1"); }

void ServiceManager::send(std::string_view message) const {
    sockaddr_un address{};
    const bool fits = !socket_.empty() && socket_.size() < sizeof address.sun_path;
    if (!fits) return;
    address.sun_family = AF_UNIX;
    std::copy(socket_.begin(), socket_.end(), address.sun_path);
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract address
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return;
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    ::sendto(descriptor, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&address), length);
    ::close(descriptor);
}

void Heartbeat::beat() {
    const auto now = std::chrono::steady_clock::now();
    if (!manager_.alive_every() || now < next_) return;
    manager_.alive();
    next_ = now + *manager_.alive_every();
}

}  // namespace postroom::daemon
