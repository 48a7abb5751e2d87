// Pack: several workers, killed one after the other and replaced.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <stdexcept>

#include "torture/process.hpp"

namespace postroom::torture {

// A worker that ended by itself although nothing of its work allows that. What it said is on
// standard error.
class WorkerEnded : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Pack {
public:
    // `work` is that of the worker with this number, counted from 0 over all that are started.
    using Work = std::function<int(std::uint64_t number)>;

    // `pause_max`: before a kill, at most.
    Pack(std::size_t size, std::uint64_t seed, Duration pause_max, Work work);

    // SIGKILL to the oldest that is ready, so that each lives through some kills of others; another
    // one takes its place. Half of the kills come after at most 30 ms, in the midst of something,
    // the others after a longer pause, in which somebody is too late. False: it had ended by
    // itself.
    bool kill_one();
    // Replaces those that have ended by themselves but not well, and forgets those that ended well.
    // Returns how many it replaced.
    std::uint64_t replace_crashed();
    bool empty() const { return workers_.empty(); }

    std::uint64_t kills() const { return kills_; }

private:
    void start();

    Work work_;
    std::mt19937_64 random_;
    const Duration pause_max_;
    std::deque<Process> workers_;
    std::uint64_t started_ = 0;
    std::uint64_t kills_ = 0;
};

}  // namespace postroom::torture
