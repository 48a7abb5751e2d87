// LineFile: appends whole lines to a file or to standard output.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "postroom/clock.hpp"

namespace postroom::sink_stdout {

// Thread safety: one thread at a time.
class LineFile {
public:
    // An empty path is standard output. `stall_max` is how long the reader of a pipe may take
    // nothing. Nothing is opened yet.
    LineFile(std::string path, Duration stall_max);
    ~LineFile();
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;

    // Appends `lines`; on the disk when it returns, if `to_disk` and it is a file. Returns how many
    // bytes were written: all of them, or fewer when the reader of a pipe did not read for too long
    // or until `stop` was requested. Throws std::system_error. What a call has left of a line is
    // ended before the next one.
    std::size_t append(std::string_view lines, bool to_disk, const std::stop_token& stop);
    void close();

private:
    void open();
    std::size_t write_all(std::string_view bytes, const std::stop_token& stop);
    bool wait_for_room(const std::stop_token& stop) const;

    const std::string path_;
    const Duration stall_max_;
    int descriptor_ = -1;
    bool may_stall_ = false;  // a pipe, a terminal, a socket: somebody has to read it
    bool in_line_ = false;    // the last byte written was no line end
};

}  // namespace postroom::sink_stdout
