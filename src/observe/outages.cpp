#include "observe/outages.hpp"

#include <utility>

namespace postroom {

std::optional<Outages::News> Outages::failed(std::string_view store, bool claim, Instant now) {
    const base::MutexLock lock(mutex_);
    auto found = outages_.find(store);
    if (found == outages_.end()) found = outages_.emplace(store, Outage{}).first;
    Outage& outage = found->second;
    const bool forgotten = !outage.claims_fail && now - outage.last >= repeat_every_;
    if (outage.failures == 0 || forgotten) outage = {.since = now, .told = now - repeat_every_};
    outage.last = now;
    outage.claims_fail = outage.claims_fail || claim;
    ++outage.failures;
    ++outage.untold;
    if (now - outage.told < repeat_every_) return std::nullopt;
    outage.told = now;
    return News{.failures = std::exchange(outage.untold, 0), .lasted = now - outage.since};
}

std::optional<Outages::News> Outages::claimed(std::string_view store, Instant now) {
    const base::MutexLock lock(mutex_);
    const auto found = outages_.find(store);
    if (found == outages_.end() || !found->second.claims_fail) return std::nullopt;
    const News news{.failures = found->second.failures, .lasted = now - found->second.since};
    outages_.erase(found);
    return news;
}

}  // namespace postroom
