#include "base/descriptors.hpp"

#include <fcntl.h>
#include <sys/socket.h>

namespace postroom::base {

int private_socket(int family, int type, int protocol) noexcept {
#ifdef SOCK_CLOEXEC
    type |= SOCK_CLOEXEC;  // no moment in which it can be inherited
#endif
    const int descriptor = ::socket(family, type, protocol);
    if (descriptor >= 0) close_on_exec(descriptor);
    return descriptor;
}

void close_on_exec(int descriptor) noexcept { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

void do_not_block(int descriptor) noexcept { ::fcntl(descriptor, F_SETFL, O_NONBLOCK); }

}  // namespace postroom::base
