#include "dispatch/in_flight.hpp"

#include <iterator>

#include "base/assert.hpp"

namespace postroom {

namespace {

constexpr int renewals_per_lease = 3;

}  // namespace

const InFlight::Held* InFlight::find(const Lease& lease) const {
    const auto at = held_.find(lease.id);
    return at == held_.end() || at->second.lease.lease_id != lease.lease_id ? nullptr : &at->second;
}

InFlight::Held* InFlight::find(const Lease& lease) {
    return const_cast<Held*>(static_cast<const InFlight*>(this)->find(lease));
}

bool InFlight::add(const Lease& lease, Instant taken_at) {
    const auto [at, added] = held_.try_emplace(lease.id);
    if (!added) return false;
    Held& held = at->second;
    held.lease = lease;
    held.deadline = taken_at + lease_;
    held.place = order_.insert(order_.end(), lease.id);
    requeue(held, taken_at + lease_ / renewals_per_lease);
    return true;
}

// Nearly always the last place: only a hand-over after a long transaction or a postponed renewal
// goes further ahead.
void InFlight::requeue(Held& held, Instant renew_at) {
    held.renew_at = renew_at;
    auto place = order_.end();
    while (place != order_.begin()) {
        const auto before = std::prev(place);
        if (before != held.place && held_.at(*before).renew_at <= renew_at) break;
        place = before;
    }
    order_.splice(place, order_, held.place);
}

bool InFlight::holds(const Lease& lease, Instant now) const {
    const Held* const held = find(lease);
    return held != nullptr && !held->lost && now < held->deadline;
}

void InFlight::start(const Lease& lease, const std::stop_source& stop, Instant now) {
    Held* const held = find(lease);
    POSTROOM_ASSERT(held != nullptr);
    held->stage = Stage::running;
    held->stop = stop;
    held->since = now;
}

bool InFlight::finish(const Lease& lease) {
    Held* const held = find(lease);
    if (held == nullptr) return false;
    if (held->lost) {
        erase(lease.id);
        return false;
    }
    held->stage = Stage::settling;
    return true;
}

void InFlight::erase(const WorkItemId& id) {
    const auto at = held_.find(id);
    order_.erase(at->second.place);
    held_.erase(at);
}

void InFlight::remove(const Lease& lease) {
    if (find(lease) != nullptr) erase(lease.id);
}

std::stop_source InFlight::stop_of(const Lease& lease) const {
    const Held* const held = find(lease);
    return held == nullptr ? std::stop_source(std::nostopstate) : held->stop;
}

std::vector<std::stop_source> InFlight::running() const {
    std::vector<std::stop_source> out;
    for (const auto& [id, held] : held_)
        if (held.stage == Stage::running) out.push_back(held.stop);
    return out;
}

std::vector<Lease> InFlight::due(Instant now, std::size_t limit) const {
    std::vector<Lease> out;
    for (const WorkItemId& id : order_) {
        const Held& held = held_.at(id);
        if (now < held.renew_at || out.size() == limit) break;
        out.push_back(held.lease);
    }
    return out;
}

std::vector<std::stop_source> InFlight::give_up(Instant now) {
    std::vector<std::stop_source> out;
    if (ttl_ == Duration::zero()) return out;
    std::vector<WorkItemId> beyond;
    for (const auto& [id, held] : held_)
        if (held.stage == Stage::running && now - held.since >= ttl_) beyond.push_back(id);
    for (const WorkItemId& id : beyond) {
        out.push_back(held_.at(id).stop);
        erase(id);
    }
    return out;
}

void InFlight::renewed(const Lease& lease, Instant asked_at) {
    Held* const held = find(lease);
    if (held == nullptr || held->lost) return;
    held->deadline = asked_at + lease_;
    requeue(*held, asked_at + lease_ / renewals_per_lease);
}

InFlight::Lost InFlight::lost(const Lease& lease) {
    Held* const held = find(lease);
    if (held == nullptr || held->lost) return {};
    Lost out{.news = held->stage != Stage::settling, .stop = held->stop};
    if (held->stage == Stage::running) {
        held->lost = true;
        requeue(*held, Instant::max());
    } else {
        erase(lease.id);
    }
    return out;
}

void InFlight::postpone(const Lease& lease, Instant until) {
    Held* const held = find(lease);
    if (held != nullptr && !held->lost) requeue(*held, until);
}

Instant InFlight::next_due() const {
    return order_.empty() ? Instant::max() : held_.at(order_.front()).renew_at;
}

}  // namespace postroom
