#include "postroom/send_rate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

namespace postroom::send_rate_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1h};

int taken(SendRate& rate, Instant now) {
    int count = 0;
    while (rate.take(now)) ++count;
    return count;
}

TEST(SendRate, AQuarterOfASecondGoesAtOnceAndThenSoManyASecond) {
    SendRate rate(100);
    EXPECT_EQ(taken(rate, start), 25);
    EXPECT_FALSE(rate.has(start));
    EXPECT_EQ(taken(rate, start + 100ms), 10);
    EXPECT_EQ(taken(rate, start + 1h), 25) << "what was not used is not saved up";
}

TEST(SendRate, ASlowOneLetsSingleMessagesPass) {
    SendRate rate(0.5);
    EXPECT_EQ(taken(rate, start), 1);
    EXPECT_EQ(taken(rate, start + 1999ms), 0);
    EXPECT_EQ(taken(rate, start + 2s), 1);
    EXPECT_EQ(taken(rate, start + 1h), 1);
}

TEST(SendRate, EachThatRestsHasATurnBehindTheOneBeforeAndFindsIt) {
    SendRate rate(10);
    EXPECT_EQ(taken(rate, start), 2);
    const Duration half = 50ms;  // two and a half were there
    EXPECT_EQ(rate.rest(start), half);
    EXPECT_EQ(rate.rest(start), half + 100ms);
    EXPECT_EQ(rate.rest(start), half + 200ms);
    for (const Duration turn : {half, half + 100ms, half + 200ms}) {
        EXPECT_FALSE(rate.has(start + turn - 1ms));
        EXPECT_EQ(taken(rate, start + turn), 1);
    }
}

TEST(SendRate, TellsTheNextTurnAsLongAsSomethingRests) {
    SendRate rate(10);
    EXPECT_EQ(rate.next_turn(start), Instant::max());
    taken(rate, start);
    rate.rest(start);
    rate.rest(start);
    EXPECT_EQ(rate.next_turn(start), start + 50ms);
    EXPECT_EQ(rate.next_turn(start + 50ms), start + 150ms);
    EXPECT_EQ(rate.next_turn(start + 149ms), start + 150ms);
    EXPECT_EQ(rate.next_turn(start + 150ms), Instant::max());
}

TEST(SendRate, NothingRestsForLongerThanAnHourAndTheRestDoesNotComeBackAtOnce) {
    SendRate rate(1);
    taken(rate, start);
    for (int turn = 1; turn <= 3'600; ++turn) EXPECT_EQ(rate.rest(start), turn * 1s);
    std::map<std::int64_t, int> by_minute;
    for (int i = 0; i < 30'000; ++i) ++by_minute[rate.rest(start) / 1min];
    ASSERT_EQ(by_minute.size(), 30U);
    EXPECT_EQ(by_minute.begin()->first, 30);
    EXPECT_EQ(by_minute.rbegin()->first, 59);
    for (const auto& [minute, count] : by_minute) EXPECT_NEAR(count, 1'000, 20) << minute;
}

TEST(SendRate, AMessageThatIsLateForItsTurnDoesNotDelayTheNext) {
    SendRate rate(4);
    EXPECT_EQ(taken(rate, start), 1);
    for (int turn = 1; turn <= 20; ++turn) EXPECT_EQ(taken(rate, start + turn * 250ms + 20ms), 1);
}

TEST(SendRate, HasLimits) {
    for (const double wrong : {0.0, -1.0, 0.0009, 1e7, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_THROW(SendRate{wrong}, std::out_of_range) << wrong;
}

}  // namespace
}  // namespace postroom::send_rate_test
