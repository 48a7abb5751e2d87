#include "base/connect_fault.hpp"

#include <cerrno>
#include <memory>
#include <system_error>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.hpp"

namespace postroom::base {

namespace {

constexpr int patience_ms = 1000;

// The error of connecting to one address; 0 when it can be connected to.
int error_of(const addrinfo& address) {
    const int descriptor =
        private_socket(address.ai_family, address.ai_socktype, address.ai_protocol);
    if (descriptor < 0) return errno;
    do_not_block(descriptor);
    int error = ::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
        socklen_t size = sizeof(error);
        if (::poll(&ready, 1, patience_ms) <= 0) {
            error = ETIMEDOUT;
        } else if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
            error = errno;
        }
    }
    ::close(descriptor);
    return error;
}

}  // namespace

std::string connect_fault(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (code != 0) return ::gai_strerror(code);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
    int error = 0;
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
        error = error_of(*address);
        if (error == 0) return {};
    }
    return std::generic_category().message(error);
}

}  // namespace postroom::base
