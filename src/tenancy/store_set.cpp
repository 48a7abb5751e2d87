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

StorePtr open_as(const DiscoveredDatabase& database, const OpenStore& open) {
    OpenOptions options = database.options;
    options.store_id = database.id;
    return open(database.url, options);
}

}  // namespace

StoreSet::Change StoreSet::update(const std::vector<DiscoveredDatabase>& databases,
                                  const OpenStore& open) {
    const std::map<std::string, const DiscoveredDatabase*> wanted = by_id(databases);
    Change change;
    change.any = std::erase_if(members_, [&](const Member& member) {
                     const auto found = wanted.find(member.database.id);
                     return found == wanted.end() || *found->second != member.database;
                 }) > 0;
    std::set<std::string> kept;
    for (const Member& member : members_) kept.insert(member.database.id);
    for (const DiscoveredDatabase& database : databases) {
        if (kept.contains(database.id)) continue;
        try {
            members_.push_back({.database = database, .store = open_as(database, open)});
            change.any = true;
        } catch (const std::exception& error) {
            change.failures.push_back({.id = database.id, .error = error.what()});
        }
    }
    return change;
}

std::vector<StorePtr> StoreSet::stores() const {
    std::vector<StorePtr> out;
    out.reserve(members_.size());
    for (const Member& member : members_) out.push_back(member.store);
    return out;
}

}  // namespace postroom
