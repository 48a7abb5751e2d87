// The threaded classes, started and stopped many times over; ThreadSanitizer watches.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "postroom/dispatcher.hpp"
#include "postroom/outbox.hpp"
#include "postroom/testing.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"

namespace postroom::runtime_test {
namespace {

using namespace std::chrono_literals;

constexpr int cycles = 1000;
constexpr auto patience = 60s;

TEST(LoopStress, AThreadThatIsWokenAndStoppedAtAnyMomentEnds) {
    std::atomic<int> steps = 0;
    for (int i = 0; i < cycles; ++i) {
        Loop loop(monotonic_clock(), [&](Instant now, const std::stop_token&) {
            ++steps;
            return now + 1h;
        });
        std::jthread waker([&] {
            for (int n = 0; n < 3; ++n) loop.wake();
        });
        if (i % 2 == 0) waker.join();
        loop.stop();
        if (waker.joinable()) waker.join();
    }
    EXPECT_GT(steps, 0);
}

TEST(LoopStress, EveryWakeOfTheThreadIsFollowedByAStep) {
    std::atomic<int> asked = 0;
    std::atomic<int> seen = 0;
    Loop loop(monotonic_clock(), [&](Instant now, const std::stop_token&) {
        seen = asked.load();
        return now + 1h;
    });
    for (int i = 1; i <= cycles; ++i) {
        asked = i;
        loop.wake();
        const auto give_up = std::chrono::steady_clock::now() + patience;
        while (seen != i && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
        ASSERT_EQ(seen, i);
    }
}

TEST(WorkerPoolStress, NoWakeOfTheThreadsIsMissed) {
    std::atomic<int> waiting = 0;
    std::atomic<int> done = 0;
    const auto work = [&] {
        int count = waiting.load();
        while (count > 0 && !waiting.compare_exchange_weak(count, count - 1)) {
        }
        if (count <= 0) return false;
        ++done;
        return true;
    };
    for (int i = 0; i < cycles; ++i) {
        WorkerPool pool(3, work);
        waiting += 2;
        pool.wake(2);
        const auto give_up = std::chrono::steady_clock::now() + patience;
        while (waiting > 0 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
        ASSERT_EQ(waiting, 0);
    }
    EXPECT_EQ(done, 2 * cycles);
}

TEST(DispatcherStress, AThousandStartsAndStopsWithThreadsThatWriteLoseNothing) {
    MemoryStore store;
    const Outbox outbox(store);
    std::atomic<int> delivered = 0;
    std::atomic<int> written = 0;
    std::atomic<bool> stop = false;
    std::jthread writer([&] {
        NewMessage message;
        message.topic = "t";
        message.payload = "";
        while (!stop) {
            outbox.enqueue(message);
            ++written;
            std::this_thread::sleep_for(1ms);
        }
    });
    const DispatcherOptions options{.worker_count = 2, .poll_interval_max = 10ms};
    for (int i = 0; i < cycles; ++i) {
        Dispatcher dispatcher(store, options);
        dispatcher.on("t", [&](const Message&) { ++delivered; });
        dispatcher.start();
        if (i % 10 == 0) std::this_thread::sleep_for(1ms);
        if (i % 2 == 0) dispatcher.close();
    }
    stop = true;
    writer.join();
    Dispatcher last(store, options);
    last.on("t", [&](const Message&) { ++delivered; });
    last.start();
    const auto give_up = std::chrono::steady_clock::now() + 120s;
    while (delivered < written && std::chrono::steady_clock::now() < give_up)
        std::this_thread::sleep_for(1ms);
    EXPECT_EQ(delivered, written);
}

}  // namespace
}  // namespace postroom::runtime_test
