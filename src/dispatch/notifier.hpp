// Notifier: how a dispatcher speaks to the outside: events to its observer, wake-ups to the loops
// around it. Never used while the state is locked.
//
// Thread safety: may be shared.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/mutex.hpp"
#include "dispatch/dispatch_setup.hpp"
#include "dispatch/settler.hpp"

namespace postroom {

// How the loops around the core are woken. Hints: a missed one costs time, not correctness.
struct WakeUps {
    std::function<void(std::size_t count)> workers{};  // so many have something to do
    std::function<void()> poller{};
    std::function<void()> settler{};
    std::function<void()> keeper{};
    std::function<void()> reporter{};
};

class Notifier {
public:
    explicit Notifier(const DispatchSetup& setup)
        : setup_(setup), wake_ups_(std::make_shared<WakeUps>()) {}

    // From now on these; when it returns, none of the former is called any more.
    void connect(WakeUps wake_ups);
    void wake(const std::function<void()> WakeUps::*whom) const;
    void wake_workers(std::size_t count) const;

    bool wants(EventKind kind) const { return setup_.observer.wants(kind); }
    void observe(Event event) const;
    // Without its content.
    void observe(EventKind kind, const Message& message, std::string_view error = {}) const;
    void settled(const Outgoing& outgoing, Settled settled) const;
    void lost(const Lease& lease) const;
    void store_failed(std::string_view operation, std::string_view error) const;

    // How often calls of the store have failed.
    std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

private:
    const DispatchSetup& setup_;
    mutable std::atomic<std::uint64_t> failures_{0};
    mutable base::Mutex mutex_;
    std::shared_ptr<const WakeUps> wake_ups_ POSTROOM_GUARDED_BY(mutex_);
};

}  // namespace postroom
