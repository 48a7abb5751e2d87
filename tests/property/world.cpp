#include "property/world.hpp"

#include "postroom/testing.hpp"

namespace postroom::test {

namespace {

class MemoryWorld final : public World {
public:
    Store& store() override { return store_; }
    void time_passed(Duration duration) override { clock_.advance(duration); }

private:
    ManualClock clock_;
    MemoryStore store_{clock_};
};

std::vector<WorldMaker>& makers() {
    static std::vector<WorldMaker> all{
        {.name = "Memory", .make = [] { return std::make_unique<MemoryWorld>(); }}};
    return all;
}

}  // namespace

const std::vector<WorldMaker>& world_makers() { return makers(); }

bool add_world(WorldMaker maker) {
    makers().push_back(std::move(maker));
    return true;
}

}  // namespace postroom::test
