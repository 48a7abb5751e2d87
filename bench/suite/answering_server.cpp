#include "suite/answering_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace bench {
namespace {

constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view head_end = "\r\n\r\n";

// The value of Content-Length in the head of a request; 0 without one.
std::size_t body_length(std::string_view head) {
    constexpr std::string_view name = "content-length:";
    for (std::size_t at = 0; at + name.size() < head.size();) {
        if (::strncasecmp(head.data() + at, name.data(), name.size()) == 0) {
            std::size_t value = 0;
            std::string_view rest = head.substr(at + name.size());
            rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
            std::from_chars(rest.data(), rest.data() + rest.size(), value);
            return value;
        }
        at = head.find('\n', at);
        if (at == std::string_view::npos) break;
        ++at;
    }
    return 0;
}

// Takes one whole request off the front of `bytes`; false when it is not all there.
bool take_request(std::string& bytes) {
    const std::size_t end = bytes.find(head_end);
    if (end == std::string::npos) return false;
    const std::size_t size =
        end + head_end.size() + body_length(std::string_view(bytes).substr(0, end));
    if (bytes.size() < size) return false;
    bytes.erase(0, size);
    return true;
}

}  // namespace

AnsweringServer::AnsweringServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (listener_ < 0 || ::bind(listener_, any, size) != 0 || ::listen(listener_, 128) != 0 ||
        ::getsockname(listener_, any, &size) != 0)
        throw std::system_error(errno, std::generic_category(), "HTTP server");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
}

AnsweringServer::~AnsweringServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
        const std::lock_guard lock(mutex_);
        for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
}

void AnsweringServer::accept_all() {
    for (;;) {
        const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) return;
        const int on = 1;
        ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const std::lock_guard lock(mutex_);
        connections_.push_back(connection);
        threads_.emplace_back([this, connection] { serve(connection); });
    }
}

void AnsweringServer::serve(int connection) {
    std::string bytes;
    char buffer[16'384];
    for (ssize_t count = 0; (count = ::recv(connection, buffer, sizeof buffer, 0)) > 0;) {
        bytes.append(buffer, static_cast<std::size_t>(count));
        while (take_request(bytes)) {
            ++answered_;
            if (::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
        }
    }
    const std::lock_guard lock(mutex_);
    connections_.remove(connection);
    ::close(connection);
}

}  // namespace bench
