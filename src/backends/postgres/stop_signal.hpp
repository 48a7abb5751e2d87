// StopSignal: a file descriptor that becomes readable when a stop is requested, for poll().
#pragma once

#include <stop_token>
#include <utility>

#include "base/wake_pipe.hpp"

namespace postroom::postgres {

class StopSignal {
public:
    // Throws Error{unavailable} when the process has no file descriptor left.
    explicit StopSignal(std::stop_token stop);

    int descriptor() const { return pipe_.descriptor(); }
    bool requested() const { return stop_.stop_requested(); }

private:
    struct Raise {
        void operator()() const noexcept { pipe->wake(); }
        const base::WakePipe* pipe;
    };

    const base::WakePipe pipe_;
    const std::stop_token stop_;
    const std::stop_callback<Raise> raise_;  // ends first: it writes to the pipe
};

}  // namespace postroom::postgres
