#include "daemon/due_watch.hpp"

#include <algorithm>

namespace postroom::daemon {

void DueWatch::observe(const Event& event) noexcept {
    const base::MutexLock lock(mutex_);
    unsigned& empty = empty_claims_[std::string(event.store)];
    switch (event.kind) {
        case EventKind::claimed:
            empty = event.count == 0 ? empty + 1 : 0;
            break;
        case EventKind::delivered:
            empty = 0;
            if (event.message != nullptr)
                left_.erase({std::string(event.store), event.message->id});
            break;
        case EventKind::retried:
        case EventKind::dead:
        case EventKind::released:
        case EventKind::lost:
            empty = 0;
            if (event.message != nullptr) add_left(event.store, event.message->id);
            break;
        case EventKind::store_failed:
            failed_.emplace(event.store);
            // Whoever cannot claim is not waited for; what else fails says nothing about what is
            // due.
            if (event.operation == "claim") closed_.emplace(event.store);
            break;
        default:
            break;
    }
}

bool DueWatch::through(const std::set<std::string>& stores) const {
    const base::MutexLock lock(mutex_);
    return std::all_of(
        stores.begin(), stores.end(), [this](const std::string& store) POSTROOM_REQUIRES(mutex_) {
            const auto at = empty_claims_.find(store);
            return closed_.contains(store) || (at != empty_claims_.end() && at->second >= enough);
        });
}

void DueWatch::look_again() {
    const base::MutexLock lock(mutex_);
    empty_claims_.clear();
}

void DueWatch::note_left(const std::string& store, const std::vector<WorkItemId>& ids) {
    const base::MutexLock lock(mutex_);
    for (const WorkItemId& id : ids) add_left(store, id);
}

void DueWatch::add_left(std::string_view store, const WorkItemId& id) {
    if (left_.size() < known_max)
        left_.emplace(store, id);
    else
        ++left_unknown_;
}

std::uint64_t DueWatch::left() const {
    const base::MutexLock lock(mutex_);
    return left_.size() + left_unknown_;
}

bool DueWatch::any_failed() const {
    const base::MutexLock lock(mutex_);
    return !failed_.empty();
}

}  // namespace postroom::daemon
