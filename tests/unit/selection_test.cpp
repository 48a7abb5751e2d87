// The strategies as tables: who is there, who was last, who comes next.
#include "postroom/tenancy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace postroom {
namespace {

struct Case {
    const char* what;
    std::vector<PollCandidate> candidates;
    std::optional<LastPoll> last;
    std::optional<std::size_t> expected;
};

void check(const SelectionStrategy& strategy, const std::vector<Case>& cases) {
    for (const Case& one : cases) {
        EXPECT_EQ(strategy.next(one.candidates, one.last ? &*one.last : nullptr), one.expected)
            << one.what;
    }
}

const std::vector<PollCandidate> abc{{.store = "a"}, {.store = "b"}, {.store = "c"}};

TEST(RoundRobin, OBX_068_IBX_087_GoesFromStoreToStoreInOrderWhateverTheyBring) {
    check(RoundRobin(),
          {
              {"nobody is due", {}, {}, {}},
              {"the first of all", abc, {}, 0},
              {"behind the last", abc, LastPoll{"a", 50}, 1},
              {"also when that brought nothing", abc, LastPoll{"a", 0}, 1},
              {"also when it is not over yet", abc, LastPoll{"b", {}}, 2},
              {"around the end", abc, LastPoll{"c", 3}, 0},
              {"past one that is not due",
               {{.store = "a"}, {.store = "b", .due = false}, {.store = "c"}},
               LastPoll{"a", 1},
               2},
              {"the last itself, if it is the only one", {{.store = "b"}}, LastPoll{"b", 50}, 0},
              {"none where only the last is, and not due",
               {{.store = "b", .due = false}},
               LastPoll{"b", 50},
               {}},
              {"from the beginning after one that is gone", abc, LastPoll{"x", 1}, 0},
          });
}

TEST(DrainFirst, OBX_069_IBX_088_StaysWithAStoreUntilItBringsNothing) {
    check(DrainFirst(), {
                            {"nobody is due", {}, {}, {}},
                            {"the first of all", abc, {}, 0},
                            {"the same after a full batch", abc, LastPoll{"b", 50}, 1},
                            {"the same after a single message", abc, LastPoll{"b", 1}, 1},
                            {"the next after none", abc, LastPoll{"b", 0}, 2},
                            {"around the end", abc, LastPoll{"c", 0}, 0},
                            {"nobody while the last is being polled",
                             {{.store = "a"}, {.store = "b", .due = false}},
                             LastPoll{"b", {}},
                             {}},
                            {"nobody while the last has no room for more",
                             {{.store = "a"}, {.store = "b", .due = false}},
                             LastPoll{"b", 50},
                             {}},
                            {"the next after none, past one that is not due",
                             {{.store = "a"}, {.store = "b", .due = false}, {.store = "c"}},
                             LastPoll{"a", 0},
                             2},
                            {"from the beginning after one that is gone", abc, LastPoll{"x", 9}, 0},
                        });
}

}  // namespace
}  // namespace postroom
