// HostOrder: in which order the hosts of an address are asked.
//
// As the URL names them, but one that could not be reached comes last for half a minute: a machine
// that is gone without a word takes a share of the time to connect, and not every connection is to
// pay it.
//
// Thread safety: may be shared.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "base/mutex.hpp"

namespace postroom::mysql {

class HostOrder {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit HostOrder(std::size_t hosts) : hosts_(hosts), failed_at_(hosts) {}

    // Places of the hosts in the URL.
    std::vector<std::size_t> at(Time now) const {
        std::vector<std::size_t> places(hosts_);
        std::iota(places.begin(), places.end(), std::size_t{0});
        const base::MutexLock lock(mutex_);
        std::stable_partition(places.begin(), places.end(),
                              [&](std::size_t place) POSTROOM_REQUIRES(mutex_) {
                                  const std::optional<Time>& failed = failed_at_[place];
                                  return !failed || now - *failed >= rest;
                              });
        return places;
    }

    void failed(std::size_t place, Time now) {
        const base::MutexLock lock(mutex_);
        failed_at_[place] = now;
    }
    void served(std::size_t place) {
        const base::MutexLock lock(mutex_);
        failed_at_[place].reset();
    }

private:
    static constexpr std::chrono::seconds rest{30};

    const std::size_t hosts_;
    mutable base::Mutex mutex_;
    std::vector<std::optional<Time>> failed_at_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom::mysql
