#include "base/wake_pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/descriptors.hpp"

namespace postroom::base {

WakePipe::WakePipe() : ends_{-1, -1} {
#ifdef __linux__
    const int made = ::pipe2(ends_, O_CLOEXEC);  // no moment in which it can be inherited
#else
    const int made = ::pipe(ends_);
#endif
    if (made != 0) throw std::system_error(errno, std::system_category(), "pipe");
    for (const int end : ends_) {
        close_on_exec(end);
        do_not_block(end);
    }
}

WakePipe::~WakePipe() {
    for (const int end : ends_) ::close(end);
}

void WakePipe::wake() const noexcept {
    const char any = 1;
    // A full pipe wakes as well.
    [[maybe_unused]] const ssize_t written = ::write(ends_[1], &any, sizeof any);
}

void WakePipe::take() const noexcept {
    std::array<char, 64> taken{};
    while (::read(ends_[0], taken.data(), taken.size()) == static_cast<ssize_t>(taken.size())) {
    }
}

}  // namespace postroom::base
