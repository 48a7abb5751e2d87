// ServedStore: one store under a dispatcher: its core, its doorbell, and where it stands.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "dispatch/dispatch_core.hpp"
#include "postroom/tenancy.hpp"

namespace postroom {

struct ServedStore {
    ServedStore(std::uint64_t given_number, StorePtr given_store,
                std::shared_ptr<DispatchCore> given_core)
        : number(given_number), store(std::move(given_store)), core(std::move(given_core)) {}

    // Constant. The store goes last: core and bell stand on it.
    const std::uint64_t number;
    const StorePtr store;
    const std::shared_ptr<DispatchCore> core;

    // Of the thread that takes the listen step, and of BellWatch while it watches; never both.
    std::unique_ptr<Doorbell> bell{};
    Duration listen_pause{};  // of the listen step: after it failed
    // Of the first bell; written by its listen step, and constant once heard_all was true.
    Doorbell::Forecast forecast{};

    // Synchronize themselves.
    std::stop_source stop{};              // of claims, cleaning up, listening
    std::atomic<bool> heard_all{false};   // the bell is watched, misses nothing, has a forecast
    std::atomic<bool> quiet{false};       // nothing waits here
    std::atomic<bool> leaving{false};     // removed from the provider
    std::atomic<bool> stop_asked{false};  // of its handlers
    std::atomic<Instant> leaving_since{};

    // ReadyStores'.
    std::uint64_t calls = 0;
    bool listed = false;
    std::atomic<bool> cold{false};  // anybody may look
};

using ServedStorePtr = std::shared_ptr<ServedStore>;

}  // namespace postroom
