// BellWatch: one thread that watches the doorbells of all stores.
//
// Bells with a descriptor are waited for; the others are looked at in turn, each at least once a
// second, and ever more often the fewer they are; of many, those that have been silent for long a
// fourth as often.
//
// Thread safety: add() and remove() from any thread; stop() by the owner.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "base/wake_pipe.hpp"
#include "runtime/served_store.hpp"

namespace postroom {

class BellWatch {
public:
    struct Calls {
        std::function<void(ServedStore&)> rung{};
        // It cannot hear any more and is watched no longer.
        std::function<void(ServedStore&, const std::string& error)> broken{};
    };
    // Throws std::system_error when the system has no descriptor left.
    explicit BellWatch(Calls calls);
    BellWatch(const BellWatch&) = delete;
    BellWatch& operator=(const BellWatch&) = delete;
    ~BellWatch();

    // `store->bell` listens; it belongs to the watch until it breaks or is removed.
    void add(const ServedStorePtr& store);
    // When this returns its bell is not looked at any more.
    void remove(const ServedStore& store);
    void stop();

private:
    struct Watched {
        ServedStorePtr store{};
        int descriptor = -1;
        Instant rang{};  // when it last did; at first, since when it is watched
    };
    struct Answers {
        std::vector<ServedStorePtr> rung{};
        std::vector<std::pair<ServedStorePtr, std::string>> broken{};
    };

    void run(const std::stop_token& stop);
    // Until a descriptor is readable or it is time for the next looks.
    void wait(std::vector<int>& readable);
    Answers look(const std::vector<int>& readable);
    void forget(const ServedStore& store) POSTROOM_REQUIRES(mutex_);
    bool rests(std::size_t place, Instant now) const POSTROOM_REQUIRES(mutex_);
    void look_at(std::size_t place, Answers& answers) POSTROOM_REQUIRES(mutex_);
    Duration tick() const POSTROOM_REQUIRES(mutex_);
    std::size_t looks_per_tick() const POSTROOM_REQUIRES(mutex_);

    const Calls calls_;
    const base::WakePipe pipe_;

    mutable base::Mutex mutex_;
    std::vector<Watched> watched_ POSTROOM_GUARDED_BY(mutex_);
    std::size_t silent_ POSTROOM_GUARDED_BY(mutex_) = 0;  // of them without a descriptor
    std::size_t cursor_ POSTROOM_GUARDED_BY(mutex_) = 0;
    std::size_t round_ POSTROOM_GUARDED_BY(mutex_) = 0;

    std::jthread thread_;  // last: it uses all of the above
};

}  // namespace postroom
