// StoreSet: the stores of a list of databases, brought up to date from one list to the next. Knows
// neither threads nor clocks.
//
// Thread safety: one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "postroom/discovery.hpp"

namespace postroom {

class StoreSet {
public:
    struct Failure {
        std::string id{};
        std::string error{};
    };
    struct Change {
        bool any = false;  // stores came or went
        std::vector<Failure> failures{};
    };

    // Makes the stores those of `databases`: what is described as before keeps its store and its
    // place. One that cannot be opened is left out and reported. Throws std::invalid_argument, and
    // changes nothing, for an empty id or one that stands there twice.
    Change update(const std::vector<DiscoveredDatabase>& databases, const OpenStore& open);

    std::vector<StorePtr> stores() const;

private:
    struct Member {
        DiscoveredDatabase database{};
        StorePtr store{};
    };

    std::vector<Member> members_;
};

}  // namespace postroom
