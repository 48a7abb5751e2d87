// A database whose clock is put right after it was wrong for a while: nothing keeps a time that the
// wrong clock gave it for longer than it was to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>

#include "postroom/backend/sqlite.hpp"
#include "postroom/outbox.hpp"
#include "support/temp_dir.hpp"
#include "support/wait_until.hpp"

namespace postroom::sqlite::clock_test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

// SQLite's own way to files, with a clock that can be moved, as the one of whoever opens a file
// next.
class MovedClock {
public:
    MovedClock() {
        vfs_.zName = "moved_clock";
        vfs_.pNext = nullptr;
        vfs_.xCurrentTimeInt64 = [](sqlite3_vfs*, sqlite3_int64* milliseconds) {
            const int result = original().xCurrentTimeInt64(&original(), milliseconds);
            *milliseconds += offset.load();
            return result;
        };
        sqlite3_vfs_register(&vfs_, 1);
    }
    ~MovedClock() {
        sqlite3_vfs_unregister(&vfs_);
        sqlite3_vfs_register(&original(), 1);
    }
    MovedClock(const MovedClock&) = delete;
    MovedClock& operator=(const MovedClock&) = delete;

    void set(std::chrono::milliseconds beside) { offset = beside.count(); }

private:
    static sqlite3_vfs& original() {
        static sqlite3_vfs* const first = sqlite3_vfs_find("unix");
        return *first;
    }
    static inline std::atomic<sqlite3_int64> offset{0};
    sqlite3_vfs vfs_ = original();
};

class SqliteClock : public testing::Test {
protected:
    SqliteClock() {
        clock.set(0ms);
        store = sqlite::open_store((directory / "store.db").string(), {.deploy_schema = true});
        // The clock has been right so far.
        EXPECT_THAT(claim(1s), IsEmpty());
    }

    void put(const std::string& key = {}) {
        Outbox(*store).enqueue({.topic = "t", .payload = "p", .ordering_key = key});
    }
    std::vector<Message> claim(Duration lease) {
        return Outbox(*store, {.queue = {.lease = lease}}).claim_due(10);
    }
    // As after a crash of the process: whatever was held is held by nobody.
    void reopen() { store = sqlite::open_store((directory / "store.db").string()); }
    bool comes(std::chrono::seconds timeout) {
        return test::wait_until([&] { return !claim(1s).empty(); }, timeout, 50ms);
    }

    MovedClock clock;
    const test::TempDir directory;
    std::unique_ptr<Store> store;
};

TEST_F(SqliteClock, TheClockIsMoved) {
    const Instant before = store->now();
    clock.set(1h);
    EXPECT_GT(store->now(), before + 59min);
}

TEST_F(SqliteClock, ALeaseThatWasTakenUnderAClockAheadEndsInItsTime) {
    for (const char* const key : {"", "k"}) {
        put(key);
        clock.set(1h);
        ASSERT_THAT(claim(2s), SizeIs(1));
        reopen();
        clock.set(0ms);
        EXPECT_THAT(claim(1s), IsEmpty()) << "the lease is not over yet";
        std::vector<Message> come;
        EXPECT_TRUE(test::wait_until([&] { return !(come = claim(1min)).empty(); }, 60s, 50ms));
        Outbox(*store).ack(come);
    }
}

TEST_F(SqliteClock, AnAttemptThatWasPutOffUnderAClockAheadIsMadeInItsTime) {
    put();
    clock.set(1h);
    const std::vector<Message> claimed = claim(30s);
    ASSERT_THAT(claimed, SizeIs(1));
    Outbox(*store).abandon(claimed, "not now", 1s);
    reopen();
    clock.set(0ms);
    EXPECT_TRUE(comes(60s));
}

TEST_F(SqliteClock, ADueTimeThatAUserAskedForStays) {
    const Instant due = store->now() + 30min;
    clock.set(1h);
    Outbox(*store).enqueue({.topic = "t", .payload = "p", .due_time = store->now() + 2h});
    put();
    // Its lease lasts for longer than a slow disk: it is not ready when it is looked at.
    ASSERT_THAT(claim(10min), SizeIs(1));
    clock.set(0ms);
    claim(1s);
    const std::vector<Message> waiting =
        store->find(Queue::outbox, {.state = State::ready, .limit = 10});
    ASSERT_THAT(waiting, SizeIs(1));
    EXPECT_GT(waiting.front().available_at, due);
}

TEST_F(SqliteClock, AClockThatWasBehindStopsNothing) {
    put("k");
    put();
    clock.set(-24h * 365);
    reopen();
    EXPECT_TRUE(comes(60s));
    clock.set(0ms);
    EXPECT_TRUE(comes(60s));
    put("other");
    EXPECT_TRUE(comes(60s));
}

}  // namespace
}  // namespace postroom::sqlite::clock_test
