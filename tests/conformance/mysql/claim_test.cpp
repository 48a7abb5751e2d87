// Claims on MariaDB after a clock was put back, claims that the server cuts off, and how the
// procedure for any language shares a batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "queue/claim_passes.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::mysql_claim_test {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

class MariadbClaim : public testing::Test {
protected:
    MariadbClaim() : store(mysql::open_store(database.url(), {.deploy_schema = true})) {}

    void enqueue(int priority = 0) {
        NewMessage message{.topic = "t", .payload = "p"};
        message.priority = priority;
        Outbox(*store).enqueue(message);
    }
    std::vector<Message> claim() {
        return store->claim(Queue::outbox, {.owner = OwnerToken::generate()});
    }
    void set_gate(const std::string& columns) {
        database.sql("UPDATE outbox_gate SET " + columns + " WHERE name = 'claim'");
    }
    std::string value(const std::string& sql) { return database.sql(sql).at(0).at(0).value(); }

    MariadbDatabase database;
    std::unique_ptr<Store> store;
};

// Goal: times in the gate that lie further ahead than any claim writes them are those of a clock
// that was put back since, and nobody waits for them.
TEST_F(MariadbClaim, AClockThatWasPutBackPutsOffNoLookAtEverything) {
    enqueue();
    set_gate(
        "mark = 1000000, floor = 1000000, look_at = '2999-01-01', full_look_at = '2999-01-01'");
    EXPECT_THAT(claim(), SizeIs(1));
    EXPECT_EQ(
        value("SELECT full_look_at < '2999-01-01' AND look_at < '2999-01-01' FROM outbox_gate "
              "WHERE name = 'claim'"),
        "1");
}

TEST_F(MariadbClaim, AClockThatWasPutBackPutsOffNoLookFromTheFloor) {
    enqueue();
    set_gate(
        "mark = 1000000, look_at = '2999-01-01', full_look_at = UTC_TIMESTAMP(6) + INTERVAL 29 "
        "SECOND");
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_F(MariadbClaim, AClockThatWasPutBackPutsOffNoLookForLostLeases) {
    enqueue();
    ASSERT_THAT(claim(), SizeIs(1));
    database.sql("UPDATE outbox_lease SET locked_until = '2001-01-01'");
    set_gate("lease_due = '2999-01-01'");
    EXPECT_THAT(claim(), SizeIs(1));
}

// Goal: a look at everything is over when it was taken, and not when it was due.
TEST_F(MariadbClaim, ALookThatFoundNoRoomIsTakenByTheNextClaim) {
    enqueue(5);
    enqueue();
    set_gate("full_look_at = '2000-01-01', look_at = '2000-01-01'");
    const std::string due =
        "SELECT full_look_at = '2000-01-01' FROM outbox_gate WHERE name = 'claim'";
    NativeSession session(database.url());
    const std::string one = "CALL outbox_lease_batch(x'01', 1, 60000000, 1, 1, 0, 0, 0, 0, @taken)";
    session.run(one);  // takes the urgent one, and has no room for a look
    EXPECT_EQ(value(due), "1");
    session.run(one);
    EXPECT_EQ(value(due), "0");
    EXPECT_EQ(value("SELECT COUNT(*) FROM outbox_lease"), "2");
}

// Goal: a claim that the server ends half-way leaves nothing leased and nothing locked, and the
// store goes on. Method: a claim that has the gate and has begun to write waits for a lock; there
// its statement is ended, or its connection.
TEST_F(MariadbClaim, AClaimThatTheServerCutsOffLeavesNothingBehind) {
    NativeSession blocker(database.url());
    blocker.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    for (const std::string kill : {"KILL QUERY ", "KILL CONNECTION "}) {
        enqueue();
        blocker.run("START TRANSACTION");
        blocker.run("SELECT * FROM outbox_lease WHERE seq > 0 FOR UPDATE");
        std::jthread cut_off([&] {
            try {
                claim();
                ADD_FAILURE() << "nothing was thrown";
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
            }
        });
        const std::string root = database.server().root_url();
        std::string id;
        // The server renews this only when it was not asked for a tenth of a second.
        EXPECT_TRUE(wait_until(
            [&] {
                const auto rows = mariadb_sql(
                    root,
                    "SELECT p.ID FROM information_schema.INNODB_TRX AS t JOIN "
                    "information_schema.PROCESSLIST AS p ON p.ID = "
                    "t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.DB = '" +
                        database.name() + "'");
                if (!rows.empty()) id = rows.at(0).at(0).value();
                return !id.empty();
            },
            25s, 200ms));
        mariadb_sql(root, kill + id);
        cut_off.join();
        // The gate is free while the blocker still stands: whoever comes next gets as far.
        EXPECT_TRUE(wait_until(
            [&] {
                return blocker.value(
                           "SELECT COUNT(*) FROM (SELECT name FROM outbox_gate WHERE name = "
                           "'claim' FOR UPDATE SKIP LOCKED) AS d") == "1";
            },
            30s));
        blocker.run("ROLLBACK");
        EXPECT_EQ(blocker.value("SELECT COUNT(*) FROM outbox_lease"), "0") << kill;
        const auto claimed = claim();
        ASSERT_THAT(claimed, SizeIs(1)) << kill;
        const std::vector<Settlement> done{{.lease = claimed[0].lease.value()}};
        store->settle(nullptr, Queue::outbox, done);
    }
}

// Goal: a batch is shared by one rule, whether the library or the procedure works out the numbers.
TEST_F(MariadbClaim, TheProcedureSharesABatchAsTheLibraryDoes) {
    NativeSession session(database.url());
    for (const std::uint32_t batch : {1U, 2U, 3U, 7U, 8U, 100U}) {
        for (std::uint64_t number = 0; number < 40; ++number) {
            const ClaimPasses wanted = claim_passes(batch, number);
            session.run("CALL outbox_claim_passes(" + std::to_string(batch) + ", " +
                        std::to_string(number) + ", @a, @b, @c, @d, @e)");
            const SqlRows rows = session.run("SELECT @a, @b, @c, @d, @e");
            const auto column = [&](std::size_t i) {
                return static_cast<std::uint32_t>(std::stoul(rows.at(0).at(i).value_or("")));
            };
            const ClaimPasses got{.urgent = column(0),
                                  .keyed = column(1),
                                  .due = column(2),
                                  .low = column(3),
                                  .keyed_again = column(4)};
            EXPECT_EQ(got, wanted) << batch << " by claim " << number;
        }
    }
}

// Goal: what takes the place of expired messages is no more than they were.
TEST_F(MariadbClaim, TheProcedureClaimsNoMoreThanABatchInPlaceOfExpiredMessages) {
    const Outbox outbox(*store);
    const std::vector<NewMessage> some(100, NewMessage{.topic = "t", .payload = "p"});
    outbox.enqueue_all(some);
    std::vector<Settlement> given_back;
    for (const Message& message :
         store->claim(Queue::outbox, {.owner = OwnerToken::generate(), .batch = 100}))
        given_back.push_back({.lease = *message.lease, .outcome = Outcome::release});
    ASSERT_THAT(given_back, SizeIs(100));
    store->settle(nullptr, Queue::outbox, given_back);
    const Instant end = store->now() + 1s;
    outbox.enqueue({.topic = "t", .payload = "p", .expires_at = end});
    outbox.enqueue_all(some);
    ASSERT_TRUE(wait_until([&] { return store->now() > end; }, 1min, 10ms));
    NativeSession session(database.url());
    const SqlRows claimed =
        session.run("CALL outbox_claim('6f1c7a52-8a3e-4b7c-9d55-000000000001', 30, 100)");
    EXPECT_THAT(claimed, SizeIs(100));
}

}  // namespace
}  // namespace postroom::test::mysql_claim_test
