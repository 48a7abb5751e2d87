#include "tenancy/store_set.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace postroom {

namespace {

std::map<std::string, const DiscoveredDatabase*> by_id(
    const std::vector<DiscoveredDatabase>& databases) {
    std::map<std::string, const DiscoveredDatabase*> out;
    for (const DiscoveredDatabase& database : databases) {
        if (database.id.empty()) throw std::invalid_argument("a database without an id");
        if (!out.emplace(database.id, &database).second)
            throw std::invalid_argument("two databases with the id '" + database.id + "'");
    }
    return out;
}

}  // namespace

StorePtr open_as(const DiscoveredDatabase& database, const OpenStore& open) {
    OpenOptions options = database.options;
    options.store_id = database.id;
    return open(database.url, options);
}

StoreSet::Change StoreSet::update(const std::vector<DiscoveredDatabase>& databases) {
    const std::map<std::string, const DiscoveredDatabase*> wanted = by_id(databases);
    Change change;
    change.removed = std::erase_if(members_, [&](const Member& member) {
                         return !wanted.contains(member.database.id);
                     }) > 0;
    std::set<std::string> kept;
    for (Member& member : members_) {
        member.outdated = *wanted.at(member.database.id) != member.database;
        if (!member.outdated) kept.insert(member.database.id);
    }
    for (const DiscoveredDatabase& database : databases)
        if (!kept.contains(database.id))
            change.missing.push_back({.database = database, .place = next_place_++});
    std::stable_partition(
        change.missing.begin(), change.missing.end(),
        [&](const Missing& missing) { return !failed_.contains(missing.database.id); });
    std::erase_if(failed_, [&](const std::string& id) { return !wanted.contains(id); });
    return change;
}

void StoreSet::add(const Missing& missing, StorePtr store) {
    failed_.erase(missing.database.id);
    remove_outdated(missing.database.id);
    const auto behind = std::upper_bound(
        members_.begin(), members_.end(), missing.place,
        [](std::uint64_t place, const Member& member) { return place < member.place; });
    members_.insert(
        behind, {.database = missing.database, .store = std::move(store), .place = missing.place});
}

bool StoreSet::failed(const Missing& missing) {
    failed_.insert(missing.database.id);
    return remove_outdated(missing.database.id);
}

bool StoreSet::remove_outdated(const std::string& id) {
    return std::erase_if(members_, [&](const Member& member) {
               return member.outdated && member.database.id == id;
           }) > 0;
}

std::vector<StorePtr> StoreSet::stores() const {
    std::vector<StorePtr> out;
    out.reserve(members_.size());
    for (const Member& member : members_) out.push_back(member.store);
    return out;
}

}  // namespace postroom
