#include "base/assert.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace postroom::base::assert_test {
namespace {

TEST(Assert, HeldConditionIsEvaluatedOnceAndGoesOn) {
    int evaluated = 0;
    POSTROOM_ASSERT(++evaluated == 1);
    EXPECT_EQ(evaluated, 1);
}

TEST(AssertDeathTest, BrokenConditionPrintsItselfAndAborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(POSTROOM_ASSERT(1 + 1 == 3), testing::KilledBySignal(SIGABRT),
                "assertion failed: 1 \\+ 1 == 3 .*assert_test.cpp");
}

}  // namespace
}  // namespace postroom::base::assert_test
