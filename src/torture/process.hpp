// Process: work in a process of its own, which can be killed.
//
// A fork and no new program, so that the work can be any function of the caller's. Whoever makes
// one has no store open: a client library's connections and locks do not go through a fork. Threads
// of the caller are not there in the process.
#pragma once

#include <functional>

#include <sys/types.h>

#include "postroom/clock.hpp"

namespace postroom::torture {

class Process {
public:
    // `work` returns the exit code; what it throws is said on standard error. It begins by saying
    // "ready" on standard output (worker_loop()). It dies with us.
    explicit Process(const std::function<int()>& work);
    // Kills it.
    ~Process();
    Process(Process&& other) noexcept;
    Process& operator=(Process&&) = delete;

    // False: it did not say so in time, or ended.
    bool await_ready(Duration patience) const;
    bool is_running();
    void kill();
    // Whether it ends by itself in time, and well. Calls `check` meanwhile; what that throws comes
    // out.
    bool ends_well(Duration patience, const std::function<void()>& check);
    // Of one that has ended.
    bool ended_well() const;

private:
    void reap(bool wait);

    pid_t pid_ = -1;  // -1: it has ended
    int output_ = -1;
    int status_ = -1;
};

}  // namespace postroom::torture
