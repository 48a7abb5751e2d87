// Outages: what a log says of a store that fails again and again: that it began, now and then that
// it goes on, and that it is over.
//
// Without them a database that is away for a minute would be hundreds of lines. An outage is over
// with the next claim that succeeds. Where claims work and something else fails, such as the
// doorbell, nothing tells that it is over; then a failure is news when there was none for a while.
//
// Thread safety: may be shared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "postroom/clock.hpp"

namespace postroom {

class Outages {
public:
    // As long as an outage lasts, it is news this often.
    explicit Outages(Duration repeat_every) : repeat_every_(repeat_every) {}

    struct News {
        std::uint64_t failures = 0;  // since the last news of this outage; of its end: in all
        Duration lasted{};
    };
    // `claim`: what failed was a claim. nullopt: nothing to be said.
    std::optional<News> failed(std::string_view store, bool claim, Instant now);
    // A claim succeeded. nullopt: nobody thought that it would not.
    std::optional<News> claimed(std::string_view store, Instant now);

private:
    struct Outage {
        Instant since{};
        Instant last{};
        Instant told{};
        std::uint64_t failures = 0;
        std::uint64_t untold = 0;
        bool claims_fail = false;
    };

    const Duration repeat_every_;

    base::Mutex mutex_;
    std::map<std::string, Outage, std::less<>> outages_ POSTROOM_GUARDED_BY(mutex_);  // by store
};

}  // namespace postroom
