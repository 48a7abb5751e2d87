// Journal: what a process that may be killed at any moment tells about its doings.
//
// Each entry is a line, and entries that belong together are written with one write(2): what was
// written stands in the file whatever happens to the process. A last line without line end was cut
// by the kill.
//
//   plan commit|rollback TAG plain|order ID...
//       before the end of a transaction that enqueued these
//   kept TAG
//       its commit was confirmed
//   held ID LEASE_ID SINCE UNTIL
//       a claim returned this; microseconds of the database's clock
//   settle OUTCOME ID LEASE_ID AT
//       about to settle; AT is a time not after the settlement
//   settled RESULT ID LEASE_ID
//       what the settlement returned
//   handed COUNT
//       so many were handed to the dispatcher of the process in memory
//   error TEXT
//       the store threw a retryable error or an unknown outcome
//
// `order` messages have a row of the same id in the table business_order, written in the same
// transaction.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace postroom::torture {

class Journal {
public:
    explicit Journal(const std::filesystem::path& path)
        : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
        if (file_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
    }
    ~Journal() { ::close(file_); }
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // `lines` ends with a line end.
    void write(const std::string& lines) {
        if (lines.empty()) return;
        if (::write(file_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
            throw std::system_error(errno, std::generic_category(), "journal");
    }

private:
    int file_;
};

// Lines with their line end; what a kill cut off is not there.
inline std::vector<std::string> whole_lines(const std::filesystem::path& path) {
    std::vector<std::string> lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line) && !in.eof();) lines.push_back(line);
    return lines;
}

}  // namespace postroom::torture
