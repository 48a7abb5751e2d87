// WaitWatch: notices that a store does not answer, while whoever asked still waits.
//
// A database may keep a statement for long without failing: a commit that waits for a synchronous
// standby, a server that was frozen. Then nothing else would be heard of it.
//
// Thread safety: may be shared.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/dispatcher.hpp"
#include "runtime/loop.hpp"

namespace postroom {

class WaitWatch {
public:
    struct Limits {
        Duration first{};  // a wait is told when it lasts so long,
        Duration again{};  // and again after each such time
    };
    // `tell` is called from a thread of its own, once for all that wait for a store.
    WaitWatch(const Clock& clock, const Limits& limits, std::function<void(const StoreWait&)> tell);
    WaitWatch(const WaitWatch&) = delete;
    WaitWatch& operator=(const WaitWatch&) = delete;

    // Something is asked of a store, for as long as this object is there. `operation` and `store`
    // must outlive it.
    class Wait {
    public:
        Wait(WaitWatch& watch, std::string_view store, std::string_view operation);
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;
        ~Wait();

    private:
        friend class WaitWatch;
        struct Entry {
            std::string_view store;
            std::string_view operation;
            Instant since;
        };
        WaitWatch& watch_;
        std::list<Entry>::iterator place_;
    };

    // The longest of each store that is waited for at this moment, if it is not a short one.
    std::vector<StoreWait> waits() const;

private:
    using Waits = std::map<std::string, StoreWait, std::less<>>;  // by store

    Waits longest(Instant now) const;
    Instant look(Instant now);

    const Clock& clock_;
    const Limits limits_;
    const std::function<void(const StoreWait&)> tell_;

    mutable base::Mutex mutex_;
    std::list<Wait::Entry> under_way_ POSTROOM_GUARDED_BY(mutex_);

    std::map<std::string, Instant> told_;  // of the loop: when, of which store
    Loop loop_;                            // last: it uses all of the above
};

}  // namespace postroom
