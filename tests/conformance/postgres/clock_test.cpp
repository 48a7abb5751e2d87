// A server whose clock is wrong for a while, around a crash: everything that waits for a time goes
// on when the clock is right again, and nothing is held by two workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postroom/backend/postgres.hpp"
#include "postroom/outbox.hpp"
#include "support/private_postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

class PostgresClock : public testing::Test {
protected:
    PostgresClock() : url(postgres.server().create_database()) {
        postgres.set_clock("+0");
        postgres.crash_restart();  // from now on its clock can be moved
        store = postgres::open_store(url, {.deploy_schema = true});
    }

    void put(const std::string& key = {}) {
        Outbox(*store).enqueue({.topic = "t", .payload = "p", .ordering_key = key});
    }
    std::vector<Message> claim(Duration lease) {
        return Outbox(*store, {.queue = {.lease = lease}}).claim_due(10);
    }
    void crash() {
        store.reset();
        postgres.crash_restart();
        store = postgres::open_store(url);
    }
    // Whether a claim brings something within `timeout`.
    bool comes(std::chrono::seconds timeout) {
        return wait_until([&] { return !claim(1s).empty(); }, timeout, 50ms);
    }

    PrivatePostgres postgres;
    const std::string url;
    std::unique_ptr<Store> store;
};

TEST_F(PostgresClock, TheServersClockIsMoved) {
    const Instant before = store->now();
    postgres.set_clock("+3600");
    EXPECT_TRUE(wait_until([&] { return store->now() > before + 59min; }, 30s));
}

TEST_F(PostgresClock, KeysDoNotRestForAYearAfterARecoveryUnderAClockAYearAhead) {
    put("k");
    ASSERT_THAT(claim(1s), SizeIs(1));
    postgres.set_clock("+31536000");
    crash();
    EXPECT_THAT(claim(1s), IsEmpty()) << "keys rest for as long as a lease after a crash";
    postgres.set_clock("+0");
    EXPECT_TRUE(comes(60s));
}

TEST_F(PostgresClock, ALeaseThatWasTakenUnderAClockAheadEndsInItsTime) {
    put();
    const Instant real = store->now();
    postgres.set_clock("+3600");
    ASSERT_TRUE(wait_until([&] { return store->now() > real + 30min; }, 30s));
    ASSERT_THAT(claim(2s), SizeIs(1));
    postgres.set_clock("+0");
    EXPECT_TRUE(comes(60s));
}

TEST_F(PostgresClock, AClockThatWasBehindStopsNothing) {
    put("k");
    put();
    postgres.set_clock("-31536000");
    crash();
    EXPECT_TRUE(comes(60s));
    postgres.set_clock("+0");
    EXPECT_TRUE(comes(60s));
    put("other");
    EXPECT_TRUE(comes(60s));
}

TEST_F(PostgresClock, AnAttemptThatWasPutOffUnderAClockAheadIsMadeInItsTime) {
    put();
    const Instant real = store->now();
    postgres.set_clock("+3600");
    ASSERT_TRUE(wait_until([&] { return store->now() > real + 30min; }, 30s));
    const std::vector<Message> claimed = claim(30s);
    ASSERT_THAT(claimed, SizeIs(1));
    Outbox(*store).abandon(claimed, "not now", 1s);
    postgres.set_clock("+0");
    EXPECT_TRUE(comes(60s));
}

// One claim of a day must not make keys rest for a day after each crash that comes later.
TEST_F(PostgresClock, TheLongestLeaseIsForgottenWhenItIsOver) {
    put("k");
    Outbox(*store).ack(claim(24h));
    const Instant real = store->now();
    postgres.set_clock("+200000");  // more than two days
    ASSERT_TRUE(wait_until([&] { return store->now() > real + 50h; }, 30s));
    put("k");
    ASSERT_THAT(claim(1s), SizeIs(1));
    crash();
    EXPECT_TRUE(comes(60s));
}

}  // namespace
}  // namespace postroom::test
