#include "runtime/wait_watch.hpp"

#include <algorithm>
#include <utility>

namespace postroom {

namespace {

constexpr Duration look_interval = std::chrono::seconds{1};

}  // namespace

WaitWatch::WaitWatch(const Clock& clock, const Limits& limits,
                     std::function<void(const StoreWait&)> tell)
    : clock_(clock),
      limits_(limits),
      tell_(std::move(tell)),
      loop_(clock, [this](Instant now, const std::stop_token&) { return look(now); }) {}

WaitWatch::Wait::Wait(WaitWatch& watch, std::string_view store, std::string_view operation)
    : watch_(watch) {
    const Instant now = watch.clock_.now();
    const base::MutexLock lock(watch.mutex_);
    place_ = watch.under_way_.insert(watch.under_way_.end(), {store, operation, now});
}

WaitWatch::Wait::~Wait() {
    const base::MutexLock lock(watch_.mutex_);
    watch_.under_way_.erase(place_);
}

WaitWatch::Waits WaitWatch::longest(Instant now) const {
    Waits out;
    const base::MutexLock lock(mutex_);
    for (const Wait::Entry& entry : under_way_) {
        const Duration waited = now - entry.since;
        if (waited < std::min(look_interval, limits_.first)) continue;
        StoreWait& longest = out[std::string(entry.store)];
        if (waited > longest.waited)
            longest = {std::string(entry.store), std::string(entry.operation), waited};
    }
    return out;
}

std::vector<StoreWait> WaitWatch::waits() const {
    std::vector<StoreWait> out;
    for (auto& [store, wait] : longest(clock_.now())) out.push_back(std::move(wait));
    return out;
}

Instant WaitWatch::look(Instant now) {
    Waits waits = longest(now);
    std::erase_if(waits, [this](const auto& wait) { return wait.second.waited < limits_.first; });
    std::erase_if(told_, [&](const auto& told) { return !waits.contains(told.first); });
    for (const auto& [store, wait] : waits) {
        const auto told = told_.find(store);
        if (told != told_.end() && now - told->second < limits_.again) continue;
        told_[store] = now;
        tell_(wait);
    }
    return now + std::min(look_interval, limits_.first);
}

}  // namespace postroom
