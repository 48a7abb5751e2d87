// HttpClient: a connection to a server on this machine, byte by byte.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace postroom::test {

class HttpClient {
public:
    explicit HttpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("cannot connect");
        const timeval limit{.tv_sec = 60, .tv_usec = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    ~HttpClient() { ::close(socket_); }
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    void send(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;  // it was closed: what comes back tells
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    // Reads until `end` is among what came since the last call, or the server closes.
    std::string read_until(std::string_view end) const {
        std::string got;
        while (got.find(end) == std::string::npos && read_more(got)) {
        }
        return got;
    }
    // Until the server closes.
    std::string read_all() const {
        std::string got;
        while (read_more(got)) {
        }
        return got;
    }

private:
    bool read_more(std::string& got) const {
        char chunk[4096];
        const ssize_t count = ::recv(socket_, chunk, sizeof chunk, 0);
        if (count > 0) got.append(chunk, static_cast<std::size_t>(count));
        return count > 0;
    }

    const int socket_;
};

}  // namespace postroom::test
