#include "sinks/http/http_server.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/wait_until.hpp"

namespace postroom::test {

namespace {

[[noreturn]] void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Reads from one connection; remembers what came behind the current request.
class Reader {
public:
    explicit Reader(int descriptor) : descriptor_(descriptor) {}

    std::optional<HttpRequest> next() {
        const std::optional<std::string> head = take_until("\r\n\r\n");
        if (!head) return std::nullopt;
        HttpRequest request;
        std::istringstream lines(*head);
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
        const std::string length = request.header("content-length");
        const std::size_t size = length.empty() ? 0 : std::stoul(length);
        while (unread_.size() < size) {
            if (!fill()) return std::nullopt;
        }
        request.body = unread_.substr(0, size);
        unread_.erase(0, size);
        return request;
    }

private:
    std::optional<std::string> take_until(const std::string& mark) {
        std::size_t end = 0;
        while ((end = unread_.find(mark)) == std::string::npos) {
            if (!fill()) return std::nullopt;
        }
        std::string head = unread_.substr(0, end);
        unread_.erase(0, end + mark.size());
        return head;
    }
    bool fill() {
        std::array<char, 16384> buffer{};
        const ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (got <= 0) return false;
        unread_.append(buffer.data(), static_cast<std::size_t>(got));
        return true;
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

}  // namespace

HttpServer::HttpServer(Handler handler, std::uint16_t port) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0) throw_errno("socket");
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    // A port that it had before may be somebody's outgoing connection for the moment.
    const auto bound = [&] { return ::bind(listener_, generic, size) == 0; };
    if (!wait_until(bound, std::chrono::seconds{60}, std::chrono::milliseconds{50}))
        throw_errno("bind");
    if (::listen(listener_, 128) != 0) throw_errno("listen");
    ::getsockname(listener_, generic, &size);
    port_ = ntohs(address.sin_port);
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
        const std::lock_guard lock(mutex_);
        Connection& connection = open_.emplace_back();
        connection.descriptor = descriptor;
        connection.thread = std::thread([this, descriptor] { serve(descriptor); });
    }
}

void HttpServer::serve(int descriptor) {
    Reader reader(descriptor);
    while (const std::optional<HttpRequest> request = reader.next()) {
        const HttpAnswer answer = handler_(*request);
        if (answer.hang_up) break;
        const std::string length =
            answer.status == 204 ? "" : fmt::format("Content-Length: {}\r\n", answer.body.size());
        if (!write_all(descriptor, fmt::format("HTTP/1.1 {} x\r\n{}{}\r\n{}", answer.status, length,
                                               answer.headers, answer.body)))
            break;
    }
    ::shutdown(descriptor, SHUT_RDWR);
}

}  // namespace postroom::test
