// Progress: how far long work has come, with rate and time left, on standard error when that is a
// terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace postroom::cli {

class Progress {
public:
    // False: nothing would be seen of it, so nothing need be counted for it.
    static bool visible();

    // `total` where it is known.
    explicit Progress(std::string what, std::optional<std::uint64_t> total = {});
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // Called as often as one likes; shown a few times a second. `part`: how much of the whole that
    // is, from 0 to 1, where the total is not known.
    void at(std::uint64_t done, std::optional<double> part = {});

private:
    using Time = std::chrono::steady_clock::time_point;

    const std::string what_;
    const std::optional<std::uint64_t> total_;
    const bool shown_;
    const Time begun_;
    Time told_;
    bool dirty_ = false;
};

}  // namespace postroom::cli
