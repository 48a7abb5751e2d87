#include "backends/postgres/stop_signal.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "postroom/error.hpp"

namespace postroom::postgres {

StopSignal::Descriptor::Descriptor() : number(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (number < 0) {
        throw Error(ErrorKind::unavailable,
                    "doorbell: no event descriptor: " + std::system_category().message(errno));
    }
}

StopSignal::Descriptor::~Descriptor() { ::close(number); }

void StopSignal::Raise::operator()() const noexcept {
    // Fails only when the counter is full, and then the descriptor is readable.
    static_cast<void>(::eventfd_write(descriptor, 1));
}

}  // namespace postroom::postgres
