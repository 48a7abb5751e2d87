// ReadyStores: the stores that may have a message for a worker, served in turn.
//
// Thread safety: may be shared.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "base/mutex.hpp"
#include "runtime/served_store.hpp"

namespace postroom {

class ReadyStores {
public:
    struct Turn {
        ServedStorePtr store{};
        std::uint64_t call = 0;
    };

    // There is something.
    void add(const ServedStorePtr& store) {
        const base::MutexLock lock(mutex_);
        ++store->calls;
        if (std::exchange(store->listed, true)) return;
        queue_.push_back(store);
    }

    // The next in turn; empty when there is none.
    Turn next() {
        const base::MutexLock lock(mutex_);
        if (queue_.empty()) return {};
        ServedStorePtr store = std::move(queue_.front());
        queue_.pop_front();
        queue_.push_back(store);
        const std::uint64_t call = store->calls;
        return {.store = std::move(store), .call = call};
    }

    // Nothing was found there. It stays in line if it was added again meanwhile.
    void rest(const Turn& turn) {
        const base::MutexLock lock(mutex_);
        if (turn.store->calls != turn.call || !turn.store->listed) return;
        turn.store->listed = false;
        queue_.erase(std::find(queue_.begin(), queue_.end(), turn.store));
    }

    // Whether something that was claimed from it waits; what writers hand over does not count.
    void set_cold(ServedStore& store, bool waits) {
        const base::MutexLock lock(mutex_);
        if (store.cold.exchange(waits) == waits) return;
        cold_ = waits ? cold_ + 1 : cold_ - 1;
    }

    // How many stores have something that was claimed.
    std::size_t cold() const { return cold_; }

private:
    base::Mutex mutex_;
    std::deque<ServedStorePtr> queue_ POSTROOM_GUARDED_BY(mutex_);
    std::atomic<std::size_t> cold_{0};
};

}  // namespace postroom
