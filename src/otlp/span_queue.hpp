// SpanQueue: spans on their way from those who make them to the thread that sends them.
//
// Thread safety: push() and dropped() by anybody, next() by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stop_token>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/tracing.hpp"

namespace postroom::otlp {

struct SpanQueueLimits {
    std::size_t size = 2048;
    std::size_t batch = 512;
    Duration batch_delay = std::chrono::seconds{5};
};

class SpanQueue {
public:
    explicit SpanQueue(const SpanQueueLimits& limits) : limits_(limits) {}

    // Where there is no room, or no memory, or when it is closed, the span is dropped and counted.
    void push(Span span) noexcept;

    // Waits for a full batch, but no longer than `batch_delay` after its first span, nor beyond a
    // stop: then what is there comes batch by batch, and in the end an empty one.
    std::vector<Span> next(const std::stop_token& stop);

    void close();
    // Of spans that were taken out and came to nothing.
    void count_dropped(std::size_t count) noexcept;
    std::uint64_t dropped() const noexcept;

private:
    const SpanQueueLimits limits_;

    mutable base::Mutex mutex_;
    base::CondVar filled_;
    std::deque<Span> spans_ POSTROOM_GUARDED_BY(mutex_);
    std::uint64_t dropped_ POSTROOM_GUARDED_BY(mutex_) = 0;
    bool closed_ POSTROOM_GUARDED_BY(mutex_) = false;
};

}  // namespace postroom::otlp
