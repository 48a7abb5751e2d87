#include "sinks/stdout/line_file.hpp"

#include <cerrno>
#include <chrono>
#include <climits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace postroom::sink_stdout {

namespace {

[[noreturn]] void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

LineFile::LineFile(std::string path, Duration stall_max)
    : path_(std::move(path)), stall_max_(stall_max) {}

LineFile::~LineFile() { close(); }

void LineFile::close() {
    if (descriptor_ >= 0 && !path_.empty()) ::close(descriptor_);
    descriptor_ = -1;
}

void LineFile::open() {
    if (descriptor_ >= 0) return;
    if (path_.empty()) {
        descriptor_ = STDOUT_FILENO;
    } else {
        // Not to wait for the reader of a named pipe: without one it is an outage.
        descriptor_ =
            ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
        if (descriptor_ < 0) throw_errno("open");
    }
    struct stat status {};
    may_stall_ = ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode);
}

std::size_t LineFile::append(std::string_view lines, bool to_disk, const std::stop_token& stop) {
    open();
    // A line that could not be finished stays where it is, since others may have written behind it.
    if (in_line_ && write_all("\n", stop) == 0) return 0;
    const std::size_t written = write_all(lines, stop);
    if (to_disk && !path_.empty() && ::fdatasync(descriptor_) != 0 && errno != EINVAL)
        throw_errno("flush");
    return written;
}

std::size_t LineFile::write_all(std::string_view bytes, const std::stop_token& stop) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        if (may_stall_ && !wait_for_room(stop)) break;
        // A pipe with room takes this much without a pause, even when it is a blocking one.
        const std::size_t most = may_stall_ ? std::size_t{PIPE_BUF} : bytes.size();
        const std::string_view part = bytes.substr(done, most);
        const ssize_t written = ::write(descriptor_, part.data(), part.size());
        if (written > 0) {
            done += static_cast<std::size_t>(written);
            in_line_ = bytes[done - 1] != '\n';
        } else if (written < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
            throw_errno("write");
        }
    }
    return done;
}

// False when it was asked to stop first, or when nothing was read for too long. What is wrong with
// the other side, the write finds out.
bool LineFile::wait_for_room(const std::stop_token& stop) const {
    constexpr int tick_ms = 100;
    const auto deadline = std::chrono::steady_clock::now() + stall_max_;
    while (!stop.stop_requested()) {
        pollfd room{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        if (::poll(&room, 1, tick_ms) > 0) return true;
        if (std::chrono::steady_clock::now() >= deadline) return false;
    }
    return false;
}

}  // namespace postroom::sink_stdout
