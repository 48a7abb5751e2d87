// A server whose clock is wrong for a while, around a crash: everything that waits for a time goes
// on when the clock is right again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postroom/backend/mysql.hpp"
#include "postroom/outbox.hpp"
#include "support/private_mariadb.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

class MariadbClock : public testing::Test {
protected:
    MariadbClock() : url(mariadb.server().url(mariadb.server().create_database())) {
        mariadb.set_clock("+0");
        mariadb.crash_restart();  // from now on its clock can be moved
        store = mysql::open_store(url, {.deploy_schema = true});
    }

    void put(const std::string& key = {}) {
        Outbox(*store).enqueue({.topic = "t", .payload = "p", .ordering_key = key});
    }
    std::vector<Message> claim(Duration lease) {
        return Outbox(*store, {.queue = {.lease = lease}}).claim_due(10);
    }
    void crash() {
        store.reset();
        mariadb.crash_restart();
        store = mysql::open_store(url);
    }
    void set_ahead_by_an_hour() {
        const Instant real = store->now();
        mariadb.set_clock("+3600");
        EXPECT_TRUE(wait_until([&] { return store->now() > real + 30min; }, 30s));
    }
    bool comes(std::chrono::seconds timeout) {
        return wait_until([&] { return !claim(1s).empty(); }, timeout, 50ms);
    }

    PrivateMariadb mariadb;
    const std::string url;
    std::unique_ptr<Store> store;
};

// Not at once, but for what a claim knows of the time before: half a minute.
TEST_F(MariadbClock, ALeaseThatWasTakenUnderAClockAheadEndsInItsTime) {
    put();
    put("k");
    set_ahead_by_an_hour();
    ASSERT_THAT(claim(2s), SizeIs(2));
    crash();
    mariadb.set_clock("+0");
    std::size_t came = 0;
    EXPECT_TRUE(wait_until(
        [&] {
            for (const Message& message : claim(30s)) {
                Outbox(*store).ack(message);
                ++came;
            }
            return came == 2;
        },
        120s, 50ms));
}

TEST_F(MariadbClock, AnAttemptThatWasPutOffUnderAClockAheadIsMadeInItsTime) {
    put();
    set_ahead_by_an_hour();
    const std::vector<Message> claimed = claim(30s);
    ASSERT_THAT(claimed, SizeIs(1));
    Outbox(*store).abandon(claimed, "not now", 1s);
    mariadb.set_clock("+0");
    EXPECT_TRUE(comes(120s));
}

TEST_F(MariadbClock, AClockThatWasBehindStopsNothing) {
    put("k");
    put();
    mariadb.set_clock("-31536000");
    crash();
    EXPECT_TRUE(comes(60s));
    mariadb.set_clock("+0");
    EXPECT_TRUE(comes(60s));
    put("other");
    EXPECT_TRUE(comes(60s));
}

}  // namespace
}  // namespace postroom::test
