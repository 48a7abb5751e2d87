#include "cli/demo/http_server.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

namespace postroom::cli::demo {

namespace {

// Reads one request after the other from a connection; remembers what came behind the current one.
class Reader {
public:
    explicit Reader(int descriptor) : descriptor_(descriptor) {}

    std::optional<HttpRequest> next() {
        std::size_t end = 0;
        while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
            if (!fill()) return std::nullopt;
        HttpRequest request = request_of(unread_.substr(0, end));
        unread_.erase(0, end + 4);
        const std::string length = request.header("content-length");
        const std::size_t size = length.empty() ? 0 : std::stoul(length);
        while (unread_.size() < size)
            if (!fill()) return std::nullopt;
        request.body = unread_.substr(0, size);
        unread_.erase(0, size);
        return request;
    }

private:
    static HttpRequest request_of(const std::string& head) {
        HttpRequest request;
        std::istringstream lines(head);
        std::getline(lines, request.line);
        for (std::string line; std::getline(lines, line);) {
            if (line.ends_with('\r')) line.pop_back();
            const std::size_t colon = line.find(':');
            if (colon == std::string::npos) continue;
            std::string name = line.substr(0, colon);
            std::ranges::transform(name, name.begin(), [](unsigned char c) {
                return static_cast<char>(std::tolower(c));
            });
            const std::size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
            request.headers[name] = line.substr(value);
        }
        return request;
    }

    bool fill() {
        std::array<char, 16384> buffer{};
        const ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (got > 0) unread_.append(buffer.data(), static_cast<std::size_t>(got));
        return got > 0;
    }

    const int descriptor_;
    std::string unread_;
};

bool write_all(int descriptor, const std::string& text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t count =
            ::send(descriptor, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent += static_cast<std::size_t>(count);
    }
    return true;
}

std::string text_of(const HttpAnswer& answer) {
    const std::string length =
        answer.status == 204 ? "" : fmt::format("Content-Length: {}\r\n", answer.body.size());
    return fmt::format("HTTP/1.1 {} -\r\n{}{}\r\n{}", answer.status, length, answer.headers,
                       answer.body);
}

// Several sockets may be bound to one port, as long as at most one listens.
int bound_socket(std::uint16_t port) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int error = errno;
        ::close(descriptor);
        throw std::system_error(error, std::generic_category(), "cannot bind to 127.0.0.1");
    }
    return descriptor;
}

std::uint16_t port_of(int socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
}

Port::Port() : socket_(bound_socket(0)), number_(port_of(socket_)) {}

Port::~Port() { ::close(socket_); }

HttpServer::HttpServer(Handler handler, std::uint16_t port)
    : handler_(std::move(handler)), listener_(bound_socket(port)), port_(port_of(listener_)) {
    if (::listen(listener_, 128) != 0) {
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
    for (Connection& connection : open_) ::shutdown(connection.descriptor, SHUT_RDWR);
    for (Connection& connection : open_) {
        connection.thread.join();
        ::close(connection.descriptor);
    }
}

std::string HttpServer::url(const std::string& path) const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
}

void HttpServer::accept_all() {
    for (;;) {
        const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (descriptor < 0) return;
        const int on = 1;
        ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ++connections_;
        const base::MutexLock lock(mutex_);
        open_.push_back({.descriptor = descriptor,
                         .thread = std::thread([this, descriptor] { serve(descriptor); })});
    }
}

void HttpServer::serve(int descriptor) {
    Reader reader(descriptor);
    while (const std::optional<HttpRequest> request = reader.next()) {
        const HttpAnswer answer = handler_(*request);
        if (answer.hang_up || !write_all(descriptor, text_of(answer))) break;
    }
    ::shutdown(descriptor, SHUT_RDWR);
}

}  // namespace postroom::cli::demo
