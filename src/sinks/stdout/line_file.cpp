#include "sinks/stdout/line_file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace postroom::sink_stdout {

namespace {

[[noreturn]] void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

LineFile::LineFile(std::string path) : path_(std::move(path)) {}

LineFile::~LineFile() { close(); }

void LineFile::close() {
    if (descriptor_ >= 0 && !path_.empty()) ::close(descriptor_);
    descriptor_ = -1;
}

void LineFile::open() {
    if (descriptor_ >= 0) return;
    if (path_.empty()) {
        descriptor_ = STDOUT_FILENO;
        return;
    }
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (descriptor_ < 0) throw_errno("open");
}

void LineFile::append(std::string_view lines, bool to_disk) {
    open();
    // A line that could not be finished stays where it is, since others may have written behind it.
    if (in_line_) write_all("\n");
    write_all(lines);
    if (to_disk && !path_.empty() && ::fdatasync(descriptor_) != 0 && errno != EINVAL)
        throw_errno("flush");
}

void LineFile::write_all(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written > 0) {
            in_line_ = bytes[static_cast<std::size_t>(written) - 1] != '\n';
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            // Somebody has made the terminal or the pipe non-blocking.
            pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
            ::poll(&ready, 1, 1000);
        } else if (written < 0 && errno != EINTR) {
            throw_errno("write");
        }
    }
}

}  // namespace postroom::sink_stdout
