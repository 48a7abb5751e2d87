#include "base/mutex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/sleep.hpp"

namespace postroom::base::mutex_test {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// One slot between threads; also the annotated code that clang checks in this test.
class Slot {
public:
    void put(int value) {
        {
            const MutexLock lock(mutex_);
            value_ = value;
        }
        filled_.notify_all();
    }

    std::optional<int> take(std::stop_token stop) {
        MutexLock lock(mutex_);
        filled_.wait(lock, stop, [this]() POSTROOM_REQUIRES(mutex_) { return value_.has_value(); });
        return std::exchange(value_, std::nullopt);
    }

    std::optional<int> take_for(std::stop_token stop, steady_clock::duration timeout) {
        MutexLock lock(mutex_);
        filled_.wait_for(lock, stop, timeout,
                         [this]() POSTROOM_REQUIRES(mutex_) { return value_.has_value(); });
        return std::exchange(value_, std::nullopt);
    }

    int take_unstoppable() {
        MutexLock lock(mutex_);
        filled_.wait(lock, [this]() POSTROOM_REQUIRES(mutex_) { return value_.has_value(); });
        return *std::exchange(value_, std::nullopt);
    }

private:
    Mutex mutex_;
    CondVar filled_;
    std::optional<int> value_ POSTROOM_GUARDED_BY(mutex_);
};

TEST(Mutex, TryLockFailsWhileHeldAndSucceedsInTheGap) {
    Mutex mutex;
    const auto free_for_others = [&mutex] {
        bool taken = false;
        std::jthread([&mutex, &taken] {
            if (mutex.try_lock()) {
                taken = true;
                mutex.unlock();
            }
        }).join();
        return taken;
    };
    {
        MutexLock lock(mutex);
        EXPECT_FALSE(free_for_others());
        lock.unlock();
        EXPECT_TRUE(free_for_others());
        lock.lock();
        EXPECT_FALSE(free_for_others());
    }
    EXPECT_TRUE(free_for_others());
}

TEST(MutexLock, DestroyedInTheGapDoesNotReleaseTwice) {
    Mutex mutex;
    {
        MutexLock lock(mutex);
        lock.unlock();
    }
    const bool taken = mutex.try_lock();
    EXPECT_TRUE(taken);
    if (taken) mutex.unlock();
}

TEST(CondVar, WaitReturnsWhenReady) {
    Slot slot;
    const std::jthread producer([&slot] { slot.put(17); });
    EXPECT_EQ(slot.take_unstoppable(), 17);
}

TEST(CondVar, StoppableWaitReturnsWhenReady) {
    Slot slot;
    const std::jthread producer([&slot] { slot.put(17); });
    EXPECT_EQ(slot.take(std::stop_source().get_token()), 17);
}

TEST(CondVar, StopEndsAWaitThatNobodyNotifies) {
    Slot slot;
    std::stop_source stop;
    const std::jthread stopper([&stop] {
        std::this_thread::sleep_for(20ms);
        stop.request_stop();
    });
    EXPECT_EQ(slot.take(stop.get_token()), std::nullopt);
}

TEST(CondVar, TimedWaitEndsAtItsDeadline) {
    Slot slot;
    const auto before = steady_clock::now();
    EXPECT_EQ(slot.take_for({}, 30ms), std::nullopt);
    EXPECT_GE(steady_clock::now() - before, 30ms);
}

TEST(CondVar, StopEndsATimedWaitEarly) {
    Slot slot;
    std::stop_source stop;
    stop.request_stop();
    const auto before = steady_clock::now();
    EXPECT_EQ(slot.take_for(stop.get_token(), 1h), std::nullopt);
    EXPECT_LT(steady_clock::now() - before, 1min);
}

TEST(SleepFor, LastsAsLongAsItShould) {
    const auto before = steady_clock::now();
    EXPECT_TRUE(sleep_for(std::stop_token{}, 30ms));
    EXPECT_GE(steady_clock::now() - before, 30ms);
}

TEST(SleepFor, EndsEarlyWhenAskedToStop) {
    std::stop_source stop;
    const std::jthread asks([&] { stop.request_stop(); });
    const auto before = steady_clock::now();
    EXPECT_FALSE(sleep_for(stop.get_token(), 1h));
    EXPECT_LT(steady_clock::now() - before, 1min);
}

TEST(LookUntil, LooksAgainUntilItSeesSomething) {
    int looks = 0;
    EXPECT_TRUE(look_until([&] { return ++looks == 3; }, 1ms, 1h, {}));
    EXPECT_EQ(looks, 3);
}

TEST(LookUntil, LooksOnceWhereThereIsNoTime) {
    int looks = 0;
    EXPECT_FALSE(look_until([&] { return ++looks == 3; }, 1ms, 0ms, {}));
    EXPECT_EQ(looks, 1);
}

TEST(LookUntil, GivesUpWhenTheTimeIsOver) {
    const auto before = steady_clock::now();
    EXPECT_FALSE(look_until([] { return false; }, 1h, 30ms, {}));
    EXPECT_GE(steady_clock::now() - before, 30ms);
    EXPECT_LT(steady_clock::now() - before, 1min);
}

TEST(LookUntil, EndsEarlyWhenAskedToStop) {
    std::stop_source stop;
    const std::jthread asks([&] { stop.request_stop(); });
    const auto before = steady_clock::now();
    EXPECT_FALSE(
        look_until([] { return false; }, 1h, std::chrono::microseconds::max(), stop.get_token()));
    EXPECT_LT(steady_clock::now() - before, 1min);
}

}  // namespace
}  // namespace postroom::base::mutex_test
