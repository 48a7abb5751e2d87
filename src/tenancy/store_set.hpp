// StoreSet: the stores of a list of databases, brought up to date from one list to the next. Knows
// neither threads nor clocks.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "postroom/tenancy.hpp"

namespace postroom {

class StoreSet {
public:
    // A database that has no store yet, and its place among the others.
    struct Missing {
        DiscoveredDatabase database{};
        std::uint64_t place = 0;
    };
    struct Change {
        bool removed = false;  // stores went
        // In the order of the list, those that could not be opened last time behind the others.
        std::vector<Missing> missing{};
    };

    // Lets go of the stores whose ids are not there any more; what is described as before keeps its
    // store and its place. What is new or described otherwise is for the caller to open, and then
    // to add(); until then, or until it failed(), a store of the old description stays. Throws
    // std::invalid_argument, and changes nothing, for an empty id or one that stands there twice.
    Change update(const std::vector<DiscoveredDatabase>& databases);
    // Behind those that were there before, in the order of the list whatever the order of calls.
    void add(const Missing& missing, StorePtr store);
    // True: a store of the old description went.
    bool failed(const Missing& missing);

    std::vector<StorePtr> stores() const;

private:
    struct Member {
        DiscoveredDatabase database{};
        StorePtr store{};
        std::uint64_t place = 0;
        bool outdated = false;
    };

    bool remove_outdated(const std::string& id);

    std::vector<Member> members_;   // by place
    std::set<std::string> failed_;  // ids that could not be opened
    std::uint64_t next_place_ = 0;
};

// The store of a database, under the id of that.
StorePtr open_as(const DiscoveredDatabase& database, const OpenStore& open);

}  // namespace postroom
