#include "backends/sqlite/file_watch.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "postroom/error.hpp"

namespace postroom::sqlite {

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr std::int64_t ns_per_us = 1'000;
// Several ticks of any kernel; and of file systems that keep whole seconds only.
constexpr std::int64_t tick_ns = 50'000'000;
constexpr std::int64_t coarse_tick_ns = 2 * ns_per_second;

bool is_young(const FileTrace& file, std::int64_t now_ns) {
    const std::int64_t tick = file.written_ns % ns_per_second == 0 ? coarse_tick_ns : tick_ns;
    const std::int64_t age = now_ns - file.written_ns;
    // A time far in the future is of a clock that has been set back; it will not tell more later.
    return age < tick && age > -tick;
}

const timespec& written_at(const struct stat& status) {
#ifdef __APPLE__
    return status.st_mtimespec;
#else
    return status.st_mtim;
#endif
}

FileTrace trace_of(const std::string& path, bool needed) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT && !needed) return {};
        throw Error(ErrorKind::unavailable,
                    fmt::format("doorbell: cannot watch the file '{}': {}", path,
                                std::system_category().message(errno)));
    }
    if (status.st_size == 0) return {};
    const timespec& written = written_at(status);
    return {.device = status.st_dev,
            .inode = status.st_ino,
            .bytes = status.st_size,
            .written_ns = written.tv_sec * ns_per_second + written.tv_nsec};
}

// A file that is not there yet is looked for under the name that was given.
std::string resolved(const std::string& path) {
    std::error_code error;
    const std::filesystem::path canonical = std::filesystem::canonical(path, error);
    return error ? path : canonical.string();
}

}  // namespace

bool ChangeJudge::changed(const DatabaseTrace& trace, Instant now) {
    const std::int64_t now_ns = now.time_since_epoch().count() * ns_per_us;
    const bool young = is_young(trace.file, now_ns) || is_young(trace.log, now_ns);
    // A log that went, or was emptied, tells nothing: all that was in it is in the file, which was
    // written for it if it was not there yet.
    const bool log_grew = trace.log != FileTrace{} && (!last_ || last_->log != trace.log);
    const bool other = !last_ || last_->file != trace.file || log_grew;
    const bool matured = young_ && !young;
    last_ = trace;
    young_ = young;
    return other || matured;
}

FileWatch::FileWatch(const std::string& path) : path_(resolved(path)), log_path_(path_ + "-wal") {}

bool FileWatch::changed() {
    // The time first: what is written after it is young.
    const Instant now = SystemClock().now();
    return judge_.changed({.file = trace_of(path_, true), .log = trace_of(log_path_, false)}, now);
}

}  // namespace postroom::sqlite
