// StopSignal: a file descriptor that becomes readable when a stop is requested, for poll().
#pragma once

#include <stop_token>
#include <utility>

namespace postroom::postgres {

class StopSignal {
public:
    // Throws Error{unavailable} when the process has no file descriptor left.
    explicit StopSignal(std::stop_token stop)
        : stop_(std::move(stop)), raise_(stop_, Raise{descriptor_.number}) {}

    int descriptor() const { return descriptor_.number; }
    bool requested() const { return stop_.stop_requested(); }

private:
    struct Descriptor {
        Descriptor();
        ~Descriptor();
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
        const int number;
    };
    struct Raise {
        void operator()() const noexcept;
        int descriptor;
    };

    const Descriptor descriptor_;
    const std::stop_token stop_;
    const std::stop_callback<Raise> raise_;  // ends first: it writes to the descriptor
};

}  // namespace postroom::postgres
