// MuteServer: a server that takes connections and says nothing. Opening a store there waits for
// connect_timeout.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace postroom::test {

class MuteServer {
public:
    MuteServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(socket_, any, size), 0);
        EXPECT_EQ(::listen(socket_, 16), 0);
        EXPECT_EQ(::getsockname(socket_, any, &size), 0);
        port_ = ntohs(address.sin_port);
    }
    ~MuteServer() { ::close(socket_); }
    MuteServer(const MuteServer&) = delete;
    MuteServer& operator=(const MuteServer&) = delete;

    std::string config() const {
        return "[stores.main]\nurl = \"postgresql://app@127.0.0.1:" + std::to_string(port_) +
               "/shop\"\nconnect_timeout = \"5m\"\n";
    }

    // Somebody has connected, and waits.
    bool wait_for_caller() const {
        pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
        return ::poll(&one, 1,
                      static_cast<int>(
                          std::chrono::milliseconds(std::chrono::seconds{90}).count())) == 1;
    }

private:
    const int socket_;
    int port_ = 0;
};

}  // namespace postroom::test
