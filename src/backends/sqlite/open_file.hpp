// Opening a database file the way every connection of ours wants it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "postroom/clock.hpp"

struct sqlite3;

namespace postroom::sqlite {

struct CloseFile {
    void operator()(sqlite3* connection) const;
};
using OpenFile = std::unique_ptr<sqlite3, CloseFile>;

// BusyWait: what a connection does while another one writes: sleep, a little longer each time, up
// to `limit` altogether. SQLite keeps no queue of those who wait, so short sleeps at first make the
// turns come quickly.
class BusyWait {
public:
    explicit BusyWait(Duration limit) : limit_(limit) {}
    BusyWait(const BusyWait&) = delete;
    BusyWait& operator=(const BusyWait&) = delete;

    // `connection` must be closed before this ends.
    void install(sqlite3* connection);

    // Sleeps before the attempt after `attempts` failed ones. False: the limit is reached.
    bool sleep(int attempts);

private:
    const Duration limit_;
    std::chrono::steady_clock::time_point started_;
};

// Throws std::invalid_argument for a path that names no file, Error when the file cannot be used:
// its text names the path and the reason. `busy` serves the connection and must outlive it.
OpenFile open_file(const std::string& path, BusyWait& busy);

}  // namespace postroom::sqlite
