// The schedule on invented time: what comes when, and what troublesome stores may not do.
#include "runtime/schedule.hpp"

#include <gtest/gtest.h>

namespace postroom {
namespace {

using namespace std::chrono_literals;
using Pick = Schedule::Pick;

constexpr Instant t0{1h};

class ScheduleTest : public testing::Test {
protected:
    void start(const ScheduleLimits& limits,
               std::shared_ptr<const SelectionStrategy> strategy = std::make_shared<RoundRobin>()) {
        schedule.emplace(limits, std::move(strategy));
        for (const std::uint64_t store : {0U, 1U, 2U})
            schedule->add(store, std::string(1, static_cast<char>('a' + store)));
    }
    void due(std::uint64_t store, Step step, Instant at = t0) { schedule->wake(store, step, at); }
    // "a.claim" and so on; empty: nothing.
    std::string next(Instant now, bool may_claim = true) {
        const std::optional<Pick> pick = schedule->next(now, may_claim);
        if (!pick) return "";
        constexpr std::array names{"keep",  "settle", "leave",   "listen",
                                   "claim", "report", "maintain"};
        return std::string(1, static_cast<char>('a' + pick->store)) + "." +
               names.at(static_cast<std::size_t>(pick->step));
    }
    void finish(std::uint64_t store, Step step, Instant now, Instant again = Instant::max(),
                bool failed = false, std::size_t claimed = 0) {
        schedule->finished({.store = store, .step = step}, now,
                           {.next = again, .failed = failed, .claimed = claimed});
    }

    std::optional<Schedule> schedule;
};

TEST_F(ScheduleTest, NothingIsDueUntilItIsSaid) {
    start({});
    EXPECT_EQ(next(t0), "");
    EXPECT_EQ(schedule->wake_at(t0), Instant::max());
    due(1, Step::settle, t0 + 5s);
    EXPECT_EQ(next(t0), "");
    EXPECT_EQ(schedule->wake_at(t0), t0 + 5s);
    EXPECT_EQ(next(t0 + 5s), "b.settle");
}

TEST_F(ScheduleTest, LeasesAndOutcomesGoBeforeNewMessagesAndCleaningLast) {
    start({});
    for (const Step step : {Step::maintain, Step::claim, Step::settle, Step::keep}) due(0, step);
    EXPECT_EQ(next(t0), "a.keep");
    EXPECT_EQ(next(t0), "a.settle");
    EXPECT_EQ(next(t0), "a.claim");
    EXPECT_EQ(next(t0), "a.maintain");
    EXPECT_EQ(next(t0), "");
}

TEST_F(ScheduleTest, CleaningIsNotPutOffForEver) {
    start({});
    due(0, Step::maintain, t0);
    due(1, Step::settle, t0);
    EXPECT_EQ(next(t0 + 2s), "a.maintain");
}

TEST_F(ScheduleTest, AStepRunsOnceAtATimeAndAgainWhenItWasWokenMeanwhile) {
    start({});
    due(0, Step::claim);
    EXPECT_EQ(next(t0), "a.claim");
    due(0, Step::claim);
    EXPECT_EQ(next(t0), "");
    finish(0, Step::claim, t0 + 1ms, t0 + 1h);
    EXPECT_EQ(next(t0 + 1ms), "a.claim");
    finish(0, Step::claim, t0 + 2ms, t0 + 1h);
    EXPECT_EQ(next(t0 + 2ms), "");
    EXPECT_EQ(schedule->wake_at(t0 + 2ms), t0 + 1h);
}

TEST_F(ScheduleTest, AnEarlierTimeWinsAndALaterOneDoesNot) {
    start({});
    due(0, Step::maintain, t0 + 10s);
    due(0, Step::maintain, t0 + 20s);
    EXPECT_EQ(schedule->wake_at(t0), t0 + 10s);
    due(0, Step::maintain, t0 + 5s);
    EXPECT_EQ(schedule->wake_at(t0), t0 + 5s);
}

TEST_F(ScheduleTest, OBX_067_IBX_086_WhichStoreIsPolledIsTheStrategysChoice) {
    struct LastOfAll final : SelectionStrategy {
        std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                        const LastPoll*) const override {
            for (std::size_t i = candidates.size(); i > 0; --i)
                if (candidates[i - 1].due) return i - 1;
            return std::nullopt;
        }
    };
    start({}, std::make_shared<LastOfAll>());
    for (const std::uint64_t store : {0U, 1U, 2U}) due(store, Step::claim);
    EXPECT_EQ(next(t0), "c.claim");
    EXPECT_EQ(next(t0), "b.claim");
    EXPECT_EQ(next(t0), "a.claim");
}

TEST_F(ScheduleTest, OBX_068_IBX_087_RoundRobinPollsEachStoreOnceBeforeOneAgain) {
    start({});
    for (const std::uint64_t store : {0U, 1U, 2U}) due(store, Step::claim);
    std::string order;
    for (int i = 0; i < 6; ++i) {
        const std::string pick = next(t0);
        ASSERT_FALSE(pick.empty());
        order += pick.substr(0, 1);
        finish(static_cast<std::uint64_t>(pick[0] - 'a'), Step::claim, t0, t0, false, 50);
    }
    EXPECT_EQ(order, "abcabc");
}

TEST_F(ScheduleTest, OBX_069_IBX_088_DrainFirstLeavesTheOthersUntilAStoreBringsNothing) {
    start({}, std::make_shared<DrainFirst>());
    for (const std::uint64_t store : {0U, 1U, 2U}) due(store, Step::claim);
    EXPECT_EQ(next(t0), "a.claim");
    EXPECT_EQ(next(t0), "") << "its first poll is not over";
    finish(0, Step::claim, t0, Instant::max(), false, 50);
    EXPECT_EQ(next(t0), "") << "it has no room, but it is not drained";
    due(0, Step::claim);
    EXPECT_EQ(next(t0), "a.claim");
    finish(0, Step::claim, t0, t0 + 1s, false, 0);
    EXPECT_EQ(next(t0), "b.claim");
}

TEST_F(ScheduleTest, DrainFirstDoesNotWaitForAStoreThatFailsOrHangs) {
    start({}, std::make_shared<DrainFirst>());
    for (const std::uint64_t store : {0U, 1U, 2U}) due(store, Step::claim);
    EXPECT_EQ(next(t0), "a.claim");
    EXPECT_EQ(next(t0 + 1s), "b.claim") << "a hangs";
    finish(1, Step::claim, t0 + 1s, t0 + 1s, /*failed=*/true, 0);
    EXPECT_EQ(next(t0 + 1s), "c.claim");
}

TEST_F(ScheduleTest, AHangingStoreHoldsOnlyAsManyThreadsAsItMay) {
    start({.per_store = 2, .suspects = 1});
    for (const Step step : {Step::settle, Step::listen, Step::claim}) due(0, step);
    EXPECT_EQ(next(t0), "a.settle");
    EXPECT_EQ(next(t0), "a.listen");
    EXPECT_EQ(next(t0), "") << "two of one store at a time";
    finish(0, Step::listen, t0 + 2s);
    EXPECT_EQ(next(t0 + 2s), "") << "the other one hangs, and one thread is all it gets";
    due(1, Step::settle, t0 + 2s);
    EXPECT_EQ(next(t0 + 2s), "b.settle");
    finish(1, Step::settle, t0 + 2s);
    finish(0, Step::settle, t0 + 3s);
    EXPECT_EQ(next(t0 + 3s), "a.claim") << "one is allowed, for finding out whether it is well";
}

TEST_F(ScheduleTest, RenewalsHaveAThreadAndLimitsOfTheirOwn) {
    start({.threads = 3, .per_store = 1, .suspects = 1});
    due(0, Step::settle);
    due(1, Step::settle);
    due(2, Step::settle);
    EXPECT_EQ(next(t0), "a.settle");
    EXPECT_EQ(next(t0), "b.settle");
    EXPECT_EQ(next(t0), "") << "the third thread is for renewals";
    for (const std::uint64_t store : {0U, 1U, 2U}) due(store, Step::keep, t0 + 5s);
    EXPECT_EQ(next(t0 + 5s), "a.keep") << "whatever else of its store hangs";
    EXPECT_EQ(next(t0 + 5s), "c.keep");
    EXPECT_EQ(next(t0 + 5s), "") << "of suspects one renewal at a time";
    finish(0, Step::keep, t0 + 5s);
    EXPECT_EQ(next(t0 + 5s), "b.keep");
}

TEST_F(ScheduleTest, DrainFirstDoesNotWaitForAStoreThatIsNotPolledAnyMore) {
    start({}, std::make_shared<DrainFirst>());
    due(0, Step::claim);
    due(1, Step::claim);
    EXPECT_EQ(next(t0), "a.claim");
    finish(0, Step::claim, t0, Instant::max(), false, 50);
    schedule->end(0, Step::claim);
    EXPECT_EQ(next(t0), "b.claim");
}

TEST_F(ScheduleTest, AStepThatMayNotStartDoesNotHideAnEarlyOne) {
    start({});
    due(0, Step::claim);
    due(1, Step::settle, t0 + 2ms);
    EXPECT_EQ(next(t0, false), "");
    EXPECT_EQ(schedule->wake_at(t0), t0 + 2ms);
}

TEST_F(ScheduleTest, AllSuspectsTogetherHoldAFewThreads) {
    start({.suspects = 1, .suspicion = 10s});
    for (const std::uint64_t store : {0U, 1U}) {
        due(store, Step::settle);
        EXPECT_NE(next(t0), "");
        finish(store, Step::settle, t0, t0 + 1ms, /*failed=*/true);
    }
    due(2, Step::settle, t0 + 1ms);
    EXPECT_EQ(next(t0 + 1ms), "a.settle");
    EXPECT_EQ(next(t0 + 1ms), "c.settle") << "b has failed too and has to wait";
    EXPECT_EQ(next(t0 + 1ms), "");
    EXPECT_EQ(next(t0 + 10s), "b.settle") << "forgiven";
}

TEST_F(ScheduleTest, WithoutRoomForMessagesOnlyPollsWait) {
    start({});
    due(0, Step::claim);
    due(1, Step::settle);
    EXPECT_EQ(next(t0, false), "b.settle");
    EXPECT_EQ(next(t0, false), "");
    EXPECT_EQ(next(t0, true), "a.claim");
}

TEST_F(ScheduleTest, AStepThatWasEndedIsNeverTakenAgain) {
    start({});
    due(0, Step::claim);
    EXPECT_EQ(next(t0), "a.claim");
    schedule->end(0, Step::claim);
    finish(0, Step::claim, t0, t0);
    due(0, Step::claim);
    EXPECT_EQ(next(t0), "");
}

TEST_F(ScheduleTest, AStoreThatWasRemovedIsForgottenWithWhatWasUnderWay) {
    start({.suspects = 1});
    due(0, Step::settle);
    EXPECT_EQ(next(t0), "a.settle");
    schedule->remove(0);
    finish(0, Step::settle, t0, t0);
    due(0, Step::settle);
    EXPECT_EQ(next(t0 + 5s), "");
    EXPECT_EQ(schedule->under_way(0), 0U);
}

}  // namespace
}  // namespace postroom
