// LiveEvents: the last events of the stream, for readers that come back and ask what they missed.
// So many of them are kept, and no more than so many bytes; the last one always.
//
// Thread safety: all of it may be called concurrently.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.hpp"

namespace postroom::admin {

class LiveEvents {
public:
    static constexpr std::size_t kept_max = 512;
    static constexpr std::size_t kept_bytes_max = std::size_t{1024} * 1024;

    LiveEvents();

    // `data` is one line. Ids go up by one.
    void publish(std::string_view name, std::string_view data);

    // What a reader gets that has seen everything up to `position`, as the text of the stream. One
    // that has fallen behind what is kept gets a reset: it has to ask anew for what it shows.
    struct Batch {
        std::string text{};
        std::uint64_t position = 0;
    };
    // `last_event_id` as a client sends it. One of another run of the program leads to a reset too;
    // none at all does not.
    Batch begin(std::string_view last_event_id) const;
    Batch after(std::uint64_t position) const;

    // Called after each publish(), from whatever thread. Set once, before any.
    void on_publish(std::function<void()> call) { on_publish_ = std::move(call); }

private:
    struct Event {
        std::uint64_t number = 0;
        std::string text{};
    };
    Batch after_locked(std::uint64_t position) const POSTROOM_REQUIRES(mutex_);
    Batch reset() const POSTROOM_REQUIRES(mutex_);

    void drop_old() POSTROOM_REQUIRES(mutex_);

    const std::string run_;  // differs from run to run of the program
    std::function<void()> on_publish_;
    mutable base::Mutex mutex_;
    std::deque<Event> events_ POSTROOM_GUARDED_BY(mutex_);
    std::size_t bytes_ POSTROOM_GUARDED_BY(mutex_) = 0;  // of their texts
    std::uint64_t last_ POSTROOM_GUARDED_BY(mutex_) = 0;
};

}  // namespace postroom::admin
