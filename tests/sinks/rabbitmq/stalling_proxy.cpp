#include "sinks/rabbitmq/stalling_proxy.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace postroom::test {

namespace {

constexpr std::size_t head_bytes = 7;  // type, channel, size
constexpr char method_frame = 1;

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

bool send_all(int to, const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const ssize_t count = ::send(to, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent += static_cast<std::size_t>(count);
    }
    return true;
}

bool receive(int from, std::string& bytes, std::size_t size) {
    bytes.resize(size);
    return ::recv(from, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number = (number << 8U) | static_cast<unsigned char>(bytes.at(at + i));
    return number;
}

void pass_bytes(int from, int to) {
    std::array<char, 16384> buffer{};
    for (;;) {
        const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
        if (count <= 0 || !send_all(to, {buffer.data(), static_cast<std::size_t>(count)})) return;
    }
}

}  // namespace

StallingProxy::StallingProxy(int server_port, std::uint32_t last_method,
                             std::chrono::milliseconds late)
    : late_(late) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 1) != 0)
        throw std::system_error(errno, std::generic_category(), "stalling proxy");
    ::getsockname(listener_, generic, &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, server_port, last_method] { serve(server_port, last_method); });
}

StallingProxy::~StallingProxy() {
    for (const int descriptor : {listener_, client_.load(), server_.load()})
        ::shutdown(descriptor, SHUT_RDWR);
    thread_.join();
    for (const int descriptor : {listener_, client_.load(), server_.load()}) ::close(descriptor);
}

void StallingProxy::serve(int server_port, std::uint32_t last_method) {
    client_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    server_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port);
    if (client_ < 0 ||
        ::connect(server_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return;
    std::thread upwards([this] { pass_bytes(client_, server_); });
    pass_frames(server_, client_, last_method);
    // The client gives up sooner or later, or the test is over.
    upwards.join();
}

void StallingProxy::pass_frames(int server, int client, std::uint32_t last_method) {
    for (std::string head, body; !stalled_;) {
        if (!receive(server, head, head_bytes)) return;
        if (!receive(server, body, number_at(head, 3) + 1)) return;  // and the mark at its end
        std::this_thread::sleep_for(late_);
        const bool is_last = head[0] == method_frame && number_at(body, 0) == last_method;
        if (!send_all(client, head + body)) return;
        stalled_ = is_last;
    }
}

}  // namespace postroom::test
