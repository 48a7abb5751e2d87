#include "otlp/span_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/sleep.hpp"

namespace postroom::otlp {

void SpanQueue::push(Span span) noexcept {
    const base::MutexLock lock(mutex_);
    if (closed_ || spans_.size() >= limits_.size) {
        ++dropped_;
        return;
    }
    try {
        spans_.push_back(std::move(span));
    } catch (...) {
        ++dropped_;
        return;
    }
    // The thread waits for the first of a batch, and then for the last.
    if (spans_.size() == 1 || spans_.size() == limits_.batch) filled_.notify_one();
}

std::vector<Span> SpanQueue::next(const std::stop_token& stop) {
    base::MutexLock lock(mutex_);
    filled_.wait(lock, stop, [this]() POSTROOM_REQUIRES(mutex_) { return !spans_.empty(); });
    filled_.wait_until(lock, stop, base::deadline_after(limits_.batch_delay),
                       [this]()
                           POSTROOM_REQUIRES(mutex_) { return spans_.size() >= limits_.batch; });
    const auto count = static_cast<std::ptrdiff_t>(std::min(spans_.size(), limits_.batch));
    const auto end = std::next(spans_.begin(), count);
    std::vector<Span> batch(std::make_move_iterator(spans_.begin()), std::make_move_iterator(end));
    spans_.erase(spans_.begin(), end);
    return batch;
}

void SpanQueue::close() {
    const base::MutexLock lock(mutex_);
    closed_ = true;
}

void SpanQueue::count_dropped(std::size_t count) noexcept {
    const base::MutexLock lock(mutex_);
    dropped_ += count;
}

std::uint64_t SpanQueue::dropped() const noexcept {
    const base::MutexLock lock(mutex_);
    return dropped_;
}

}  // namespace postroom::otlp
