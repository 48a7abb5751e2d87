// FileWatch: whether a database was written to, told by size and time of its files.
//
// A commit appends to the write-ahead log or overwrites its beginning; a checkpoint writes to the
// database file. Either changes what stat() says, and stat() needs no connection. Removing or
// emptying a log does not count as a change; the checkpoint before it did. The files must not be
// opened for this: closing any descriptor of a file ends all locks that this process has on
// it, those of SQLite among them.
//
// Times come in ticks of the kernel. A file that was written in the very tick in which it was
// looked at may be written to once more without a trace. So what is so young is not trusted: once
// the tick is surely over, changed() says true another time.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "postroom/clock.hpp"

namespace postroom::sqlite {

// One file at one moment; all zero when it is missing or empty: a log that is not there says as
// much as one that is empty.
struct FileTrace {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = 0;
    std::int64_t written_ns = 0;  // since 1970

    bool operator==(const FileTrace&) const = default;
};

struct DatabaseTrace {
    FileTrace file{};
    FileTrace log{};

    bool operator==(const DatabaseTrace&) const = default;
};

// ChangeJudge: the decision alone. Pure.
class ChangeJudge {
public:
    // Whether something may have been written since the last call. The first says true.
    bool changed(const DatabaseTrace& trace, Instant now);

private:
    std::optional<DatabaseTrace> last_;
    bool young_ = false;  // `last_` was written to shortly before it was taken
};

class FileWatch {
public:
    // SQLite keeps the log beside the file that a symbolic link leads to.
    explicit FileWatch(const std::string& path);

    // Throws Error{unavailable} when the database file is not there or cannot be looked at.
    bool changed();

private:
    const std::string path_;
    const std::string log_path_;
    ChangeJudge judge_;
};

}  // namespace postroom::sqlite
