// World: a fresh store for one random history. Every backend adds its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "postroom/open_store.hpp"
#include "postroom/store.hpp"

namespace postroom::test {

class World {
public:
    World() = default;
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    virtual ~World() = default;

    virtual Store& store() = 0;
    // Called when real time has passed, for a store whose clock has to be told.
    virtual void time_passed(Duration) {}
};

struct WorldMaker {
    std::string name;
    std::function<std::unique_ptr<World>()> make;
};

// All that were added, the reference first.
const std::vector<WorldMaker>& world_makers();
// For the initializer of a constant: adds a maker and returns true.
bool add_world(WorldMaker maker);

}  // namespace postroom::test
