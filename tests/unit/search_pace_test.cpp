#include "sql/search_pace.hpp"

#include <gtest/gtest.h>

namespace postroom::sql {
namespace {

using namespace std::chrono_literals;

TEST(SearchPace, WithoutEndItGoesOnInGreaterAndGreaterSteps) {
    SearchPace pace(1, Duration::max());
    EXPECT_EQ(pace.rows(), 64U);
    EXPECT_TRUE(pace.go_on_after(1h));
    EXPECT_EQ(pace.rows(), 256U);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(pace.go_on_after(1h));
    EXPECT_EQ(pace.rows(), 250'000U) << "a step has an end";
}

TEST(SearchPace, WithoutPatienceItTakesOneStepThatIsWorthIt) {
    SearchPace pace(1, Duration::zero());
    EXPECT_EQ(pace.rows(), 2000U);
    EXPECT_FALSE(pace.go_on_after(1us));
}

TEST(SearchPace, TheMoreAreWantedTheMoreAreSearched) {
    EXPECT_EQ(SearchPace(500, 50ms).rows(), 10'000U);
}

TEST(SearchPace, AStepIsNoGreaterThanWhatFitsIntoTheTimeThatIsLeft) {
    SearchPace pace(100, 50ms);
    EXPECT_TRUE(pace.go_on_after(2ms)) << "48 ms are left: four times as many fit";
    EXPECT_EQ(pace.rows(), 8000U);
    EXPECT_TRUE(pace.go_on_after(16ms)) << "32 ms are left: twice as many fit";
    EXPECT_EQ(pace.rows(), 16'000U);
    EXPECT_FALSE(pace.go_on_after(32ms));
}

TEST(SearchPace, AStepThatTookMostOfTheTimeIsTheLast) {
    SearchPace pace(100, 50ms);
    EXPECT_FALSE(pace.go_on_after(45ms));
}

}  // namespace
}  // namespace postroom::sql
