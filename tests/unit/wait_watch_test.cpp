// A store that keeps somebody waiting is told of once, by what is waited for longest.
#include "runtime/wait_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "support/wait_until.hpp"

namespace postroom::wait_watch_test {
namespace {

using namespace std::chrono_literals;

class WaitWatchTest : public testing::Test {
protected:
    static constexpr Duration told_after = 300ms;

    std::vector<std::string> told() const {
        const std::scoped_lock lock(mutex_);
        return told_;
    }

    mutable std::mutex mutex_;
    std::vector<std::string> told_;
    WaitWatch watch_{
        monotonic_clock(), {.first = told_after, .again = 1h}, [this](const StoreWait& wait) {
            const std::scoped_lock lock(mutex_);
            told_.push_back(wait.store + " " + wait.operation);
            EXPECT_GE(wait.waited, told_after);
        }};
};

TEST_F(WaitWatchTest, AStoreIsToldOfOnceByItsLongestWait) {
    const WaitWatch::Wait first(watch_, "main", "settle");
    std::this_thread::sleep_for(5ms);
    const WaitWatch::Wait second(watch_, "main", "claim");
    EXPECT_TRUE(test::wait_until([&] { return !told().empty(); }, 60s));
    EXPECT_TRUE(test::wait_until([&] { return watch_.waits().size() == 1; }, 60s));
    std::this_thread::sleep_for(2 * told_after);
    EXPECT_THAT(told(), testing::ElementsAre("main settle"));
}

TEST_F(WaitWatchTest, WhatIsAnsweredIsNotToldOf) {
    // One that the machine holds up for so long is rightly told of; then there is another.
    std::string answered = "main";
    for (bool in_time = false; !in_time;) {
        answered += "'";
        const auto asked = std::chrono::steady_clock::now();
        { const WaitWatch::Wait wait(watch_, answered, "claim"); }
        in_time = std::chrono::steady_clock::now() - asked < told_after;
    }
    const auto is_told = [&](const std::string& store) {
        return std::ranges::count(told(), store + " claim") > 0;
    };
    const WaitWatch::Wait wait(watch_, "other", "claim");
    EXPECT_TRUE(test::wait_until([&] { return is_told("other"); }, 60s));
    EXPECT_FALSE(is_told(answered));
}

// The look that tells of the one finds that nobody waits for the other any more.
TEST_F(WaitWatchTest, AStoreIsToldOfAgainAfterItHasAnswered) {
    std::size_t count = 0;
    for (const char* const store : {"main", "other", "main"}) {
        ++count;
        const WaitWatch::Wait wait(watch_, store, "claim");
        EXPECT_TRUE(test::wait_until([&] { return told().size() == count; }, 60s));
    }
    EXPECT_THAT(told(), testing::ElementsAre("main claim", "other claim", "main claim"));
}

}  // namespace
}  // namespace postroom::wait_watch_test
