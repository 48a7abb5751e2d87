// Effects: what a step has caused and others have to hear of: events for the observer, requests to
// stop, wake-ups. Filled while the state is locked, fired at the end of its scope:
//
//     Effects effects(notifier);
//     const StateLock state(shared, effects);  // ends first, and adds the wake-ups
//
// So nothing of it runs under the lock, and no wake-up depends on somebody thinking of it.
//
// Thread safety: of one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/notifier.hpp"
#include "dispatch/settler.hpp"
#include "postroom/observer.hpp"

namespace postroom {

class Effects {
public:
    struct CircuitChange {
        bool opened = false;
        std::string destination{};
        std::string error{};
        Duration delay{};
    };
    struct Claimed {
        std::size_t count = 0;
        Duration took{};
    };

    explicit Effects(const Notifier& notifier) : notifier_(notifier) {}
    ~Effects();
    Effects(const Effects&) = delete;
    Effects& operator=(const Effects&) = delete;

    std::optional<Claimed> claimed{};
    std::vector<Message> unroutable{};
    std::size_t cold_enqueued = 0;
    std::size_t hot_enqueued = 0;
    std::size_t hot_dropped = 0;
    std::optional<CircuitChange> circuit{};
    std::vector<std::pair<Outgoing, Settled>> ended{};
    std::vector<Lease> lost{};
    std::optional<Event> depths{};
    std::vector<std::stop_source> stops{};  // to be requested

    std::size_t workers = 0;  // so many have something to do
    bool poller = false;
    bool settler = false;
    bool keeper = false;
    bool reporter = false;

private:
    void notify() const;
    void wake() const;

    const Notifier& notifier_;
};

}  // namespace postroom
