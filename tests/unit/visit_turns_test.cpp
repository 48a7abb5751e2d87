#include "runtime/visit_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace postroom::test::visit_turns_test {
namespace {

using namespace std::chrono_literals;

constexpr Duration interval = 10min;
constexpr Instant now{123h + 17s};

TEST(VisitTurns, AStoreHasOneTurnInAnInterval) {
    const VisitTurns turns(interval);
    for (std::uint64_t store = 0; store < 1000; ++store) {
        const Instant first = turns.after(now, store);
        EXPECT_GT(first - now, interval / 16) << store;
        EXPECT_LE(first - now, interval * 17 / 16) << store;
        EXPECT_EQ(turns.after(first, store), first + interval) << store;
        EXPECT_EQ(turns.after(first + 3s, store), first + interval) << "late " << store;
        EXPECT_TRUE(turns.is_on(first, store)) << store;
        EXPECT_TRUE(turns.is_on(first + 1min, store)) << store;
        EXPECT_FALSE(turns.is_on(first - 1s, store)) << store;
        EXPECT_FALSE(turns.is_on(first + 5min, store)) << store;
    }
}

TEST(VisitTurns, ThoseOfManyAreSpreadEvenly) {
    const VisitTurns turns(interval);
    constexpr std::uint64_t stores = 1000;
    std::vector<int> in_minute(10);
    for (std::uint64_t store = 0; store < stores; ++store) {
        const Duration later = turns.after(now, store) - now - interval / 16 - Duration{1};
        ++in_minute.at(static_cast<std::size_t>(later / 1min));
    }
    EXPECT_GE(*std::ranges::min_element(in_minute), 95);
    EXPECT_LE(*std::ranges::max_element(in_minute), 105);
}

// The epoch of a clock is anybody's choice.
TEST(VisitTurns, TimesBeforeTheEpochHaveTheirTurnsToo) {
    const VisitTurns turns(interval);
    const Instant early{-7h};
    const Instant first = turns.after(early, 5);
    EXPECT_GT(first - early, interval / 16);
    EXPECT_LE(first - early, interval * 17 / 16);
}

}  // namespace
}  // namespace postroom::test::visit_turns_test
