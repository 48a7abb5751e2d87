#include "sinks/rabbitmq/breaking_proxy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace postroom::test {

namespace {

sockaddr_in loopback_address(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

bool pass_on(int to, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

void hang_up(int one, int other) {
    ::shutdown(one, SHUT_RDWR);
    ::shutdown(other, SHUT_RDWR);
}

void swallow_all(int from) {
    std::array<char, 16384> buffer{};
    while (::recv(from, buffer.data(), buffer.size(), 0) > 0) {
    }
}

void pass_downwards(int server, int client) {
    std::array<char, 16384> buffer{};
    for (ssize_t count = 1; count > 0;) {
        count = ::recv(server, buffer.data(), buffer.size(), 0);
        if (count > 0 && !pass_on(client, {buffer.data(), static_cast<std::size_t>(count)})) break;
    }
    hang_up(server, client);
}

}  // namespace

BreakingProxy::BreakingProxy(int server_port, std::string word, Manner manner)
    : word_(std::move(word)), manner_(manner) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback_address(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0)
        throw std::system_error(errno, std::generic_category(), "breaking proxy");
    ::getsockname(listener_, generic, &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this, server_port] { accept_all(server_port); });
}

BreakingProxy::~BreakingProxy() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    for (Pair& pair : pairs_) {
        hang_up(pair.client, pair.server);
        pair.upwards.join();
        pair.downwards.join();
        ::close(pair.client);
        ::close(pair.server);
    }
}

void BreakingProxy::accept_all(int server_port) {
    for (;;) {
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) return;
        const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in address = loopback_address(server_port);
        if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            hang_up(client, server);
        const std::lock_guard lock(mutex_);
        Pair& pair = pairs_.emplace_back(Pair{.client = client, .server = server});
        pair.upwards = std::thread([this, &pair] { pass_upwards(pair); });
        pair.downwards = std::thread(&pass_downwards, server, client);
    }
}

void BreakingProxy::pass_upwards(const Pair& pair) {
    std::array<char, 16384> buffer{};
    std::string seen;  // the word may come in two parts
    for (;;) {
        const ssize_t count = ::recv(pair.client, buffer.data(), buffer.size(), 0);
        if (count <= 0) break;
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
        seen += bytes;
        if (const std::size_t at = seen.find(word_); at != std::string::npos) {
            ++broken_;
            if (manner_ == Manner::hang_up) break;
            const std::size_t passed_before = seen.size() - bytes.size();
            pass_on(pair.server, bytes.substr(0, at - std::min(at, passed_before)));
            swallow_all(pair.client);
            break;
        }
        if (seen.size() > word_.size()) seen.erase(0, seen.size() - word_.size());
        if (!pass_on(pair.server, bytes)) break;
    }
    hang_up(pair.client, pair.server);
}

}  // namespace postroom::test
