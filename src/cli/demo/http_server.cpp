#include "cli/demo/http_server.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <utility>

namespace postroom::cli::demo {

namespace {

// Reads one request after the other from a connection.
class Reader {
public:
    explicit Reader(int descriptor) : descriptor_(descriptor) {}

    std::optional<Request> next() {
        std::size_t end = 0;
        while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
            if (!fill()) return std::nullopt;
        Request request{.headers = headers_of(unread_.substr(0, end))};
        unread_.erase(0, end + 4);
        const std::string& length = request.headers["content-length"];
        const std::size_t size = length.empty() ? 0 : std::stoul(length);
        while (unread_.size() < size)
            if (!fill()) return std::nullopt;
        request.body = unread_.substr(0, size);
        unread_.erase(0, size);
        return request;
    }

private:
    static std::map<std::string, std::string> headers_of(const std::string& head) {
        std::map<std::string, std::string> headers;
        std::istringstream lines(head);
        for (std::string line; std::getline(lines, line);) {
            if (line.ends_with('\r')) line.pop_back();
            const std::size_t colon = line.find(": ");
            if (colon == std::string::npos) continue;
            std::string name = line.substr(0, colon);
            std::ranges::transform(name, name.begin(), [](unsigned char c) {
                return static_cast<char>(std::tolower(c));
            });
            headers[name] = line.substr(colon + 2);
        }
        return headers;
    }

    bool fill() {
        std::array<char, 4096> buffer{};
        const ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (got > 0) unread_.append(buffer.data(), static_cast<std::size_t>(got));
        return got > 0;
    }

    const int descriptor_;
    std::string unread_;
};

// Several sockets may be bound to one port, as long as at most one listens.
int bound_socket(int port) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        ::close(descriptor);
        throw std::system_error(error, std::generic_category(), "cannot bind to 127.0.0.1");
    }
    return descriptor;
}

}  // namespace

Port::Port() : socket_(bound_socket(0)) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    number_ = ntohs(address.sin_port);
}

Port::~Port() { ::close(socket_); }

HttpServer::HttpServer(const Port& port, Handler handler)
    : handler_(std::move(handler)), listener_(bound_socket(port.number())) {
    if (::listen(listener_, 64) != 0) {
        const int error = errno;
        ::close(listener_);
        throw std::system_error(error, std::generic_category(), "cannot listen on 127.0.0.1");
    }
    acceptor_ = std::thread([this] { accept_all(); });
}

HttpServer::~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    for (Connection& connection : connections_) ::shutdown(connection.descriptor, SHUT_RDWR);
    for (Connection& connection : connections_) {
        connection.thread.join();
        ::close(connection.descriptor);
    }
}

void HttpServer::accept_all() {
    for (;;) {
        const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (descriptor < 0) return;
        const int on = 1;
        ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const base::MutexLock lock(mutex_);
        connections_.push_back({.descriptor = descriptor,
                                .thread = std::thread([this, descriptor] { serve(descriptor); })});
    }
}

void HttpServer::serve(int descriptor) {
    Reader reader(descriptor);
    while (const std::optional<Request> request = reader.next()) {
        const std::optional<int> status = handler_(*request);
        if (!status) break;
        const std::string answer =
            "HTTP/1.1 " + std::to_string(*status) + " -\r\nContent-Length: 0\r\n\r\n";
        if (::send(descriptor, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    }
    ::shutdown(descriptor, SHUT_RDWR);
}

}  // namespace postroom::cli::demo
