// What an open transaction of somebody else holds up on MariaDB, and what it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/error.hpp"
#include "postroom/inbox.hpp"
#include "postroom/operator.hpp"
#include "postroom/outbox.hpp"
#include "support/matchers.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::mysql_locks_test {
namespace {

using namespace std::chrono_literals;

// The server renews what it says about locks only when it was not asked for a tenth of a second.
constexpr auto look_interval = 200ms;

class MariadbLocks : public testing::Test {
protected:
    // Whoever waits for a lock is told so instead of waiting for the test to end.
    MariadbLocks()
        : store(mysql::open_store(
              database.url(),
              {.deploy_schema = true, .statement_timeout = 20s, .conflict_retries = 0})) {}

    void enqueue(int count = 1) {
        for (int i = 0; i < count; ++i)
            Outbox(*store).enqueue({.topic = "t", .payload = std::to_string(i)});
    }
    void receive(const std::string& id) {
        Inbox(*store).enqueue({.topic = "t", .source = "s", .message_id = id, .payload = "p"});
    }
    std::vector<Message> claim(Queue queue, std::uint32_t batch = 50, Duration lease = 1min) {
        return store->claim(queue,
                            {.owner = OwnerToken::generate(), .lease = lease, .batch = batch});
    }
    std::vector<bool> extend(const Message& message, Duration lease) {
        return store->extend(message.queue, std::vector{message.lease.value()}, lease);
    }
    void settle(const Message& message, Outcome outcome, Duration delay = 0s) {
        const std::vector<Settlement> one{
            {.lease = message.lease.value(), .outcome = outcome, .delay = delay}};
        store->settle(nullptr, message.queue, one);
    }
    std::string value(const std::string& sql) { return database.sql(sql).at(0).at(0).value(); }

    void expect_three_lost_are_taken_back_around_a_locked_one() {
        other.run("START TRANSACTION");
        other.run("SELECT * FROM outbox_live ORDER BY seq LIMIT 1 FOR UPDATE");
        EXPECT_EQ(store->reap(Queue::outbox, 1), 1U);
        EXPECT_EQ(store->reap(Queue::outbox, 5), 1U);
        other.run("COMMIT");
        EXPECT_EQ(store->reap(Queue::outbox, 5), 1U);
    }

    // A statement of `user` waits for a lock.
    bool someone_waits() const {
        return mariadb_sql(database.server().root_url(),
                           "SELECT t.trx_id FROM information_schema.INNODB_TRX AS t JOIN "
                           "information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id "
                           "WHERE t.trx_state = 'LOCK WAIT' AND p.DB = '" +
                               database.name() + "'")
                   .size() == 1;
    }

    MariadbDatabase database;
    std::unique_ptr<Store> store;
    NativeSession other{database.url()};
};

// Goal: a lease is really prolonged while somebody sees or receives its message once more.
TEST_F(MariadbLocks, ALeaseIsProlongedWhileAnOpenTransactionHasItsMessage) {
    for (const char* const isolation : {"READ COMMITTED", "REPEATABLE READ"}) {
        receive(isolation);
        const auto held = claim(Queue::inbox);
        ASSERT_THAT(held, SizeIs(1));
        other.run(std::string("SET SESSION TRANSACTION ISOLATION LEVEL ") + isolation);
        for (const char* const again :
             {"CALL inbox_already_processed('", "CALL inbox_enqueue('t', 's', '"}) {
            const bool sees = std::string_view(again).find("already") != std::string_view::npos;
            other.run("START TRANSACTION");
            other.run(again + std::string(isolation) +
                      (sees ? "', 's', NULL)" : "', 'p', NULL, NULL, NULL, NULL, NULL)"));
            database.sql(
                "UPDATE inbox_lease SET locked_until = UTC_TIMESTAMP(6) + INTERVAL 9 SECOND");
            EXPECT_EQ(extend(held[0], 1h), std::vector{true});
            EXPECT_EQ(value("SELECT locked_until > UTC_TIMESTAMP(6) + INTERVAL 30 MINUTE FROM "
                            "inbox_lease"),
                      "1")
                << isolation << ", " << again;
            other.run("COMMIT");
        }
        settle(held[0], Outcome::ack);
    }
}

// A lease that is being settled is not waited for: it stands while it has time left, and is not
// said to be prolonged after that.
TEST_F(MariadbLocks, ALeaseThatSomebodyHasLockedStandsWhileItHasTime) {
    enqueue();
    const auto held = claim(Queue::outbox);
    ASSERT_THAT(held, SizeIs(1));
    other.run("START TRANSACTION");
    other.run("SELECT * FROM outbox_lease FOR UPDATE");
    EXPECT_EQ(extend(held[0], 1h), std::vector{true});
    other.run("UPDATE outbox_lease SET locked_until = '2001-01-01'");
    other.run("COMMIT");
    other.run("START TRANSACTION");
    other.run("SELECT * FROM outbox_lease FOR UPDATE");
    EXPECT_EQ(extend(held[0], 1h), std::vector{false});
    other.run("COMMIT");
    EXPECT_EQ(extend(held[0], 1h), std::vector{true}) << "nobody took it back";
}

// A born lease that is being settled is not waited for either.
TEST_F(MariadbLocks, ABornLeaseThatSomebodyHasLockedStandsWhileItHasTime) {
    for (const auto& [until, stands] :
         {std::pair{"UTC_TIMESTAMP(6) + INTERVAL 1 HOUR", true}, {"'2001-01-01'", false}}) {
        database.sql(std::string("INSERT INTO outbox_live (topic, payload, nonce, born_until, "
                                 "lease_id, owner) VALUES ('t', '', 5, ") +
                     until + ", 7, x'01')");
        const auto seq = std::stoull(value("SELECT MAX(seq) FROM outbox_live"));
        other.run("START TRANSACTION");
        other.run("SELECT * FROM outbox_live FOR UPDATE");
        const std::vector<Lease> lease{{.id = WorkItemId(seq, 5), .lease_id = LeaseId(7)}};
        EXPECT_EQ(store->extend(Queue::outbox, lease, 1h), std::vector{stands}) << until;
        other.run("COMMIT");
    }
}

// Goal: claims learn of a lease that runs out sooner than they knew. Method: a claim that is under
// way, played by a session, moves the time after the extension has decided and before it writes.
TEST_F(MariadbLocks, AClaimUnderWayDoesNotHideALeaseThatRunsOutSooner) {
    enqueue();
    const auto held = claim(Queue::outbox, 1, 1h);
    ASSERT_THAT(held, SizeIs(1));
    other.run("UPDATE outbox_gate SET lease_due = '2001-01-01'");
    other.run("START TRANSACTION");
    other.run("SELECT * FROM outbox_gate WHERE name = 'claim' FOR UPDATE");
    const auto patient = mysql::open_store(database.url(), {.statement_timeout = 1min});
    std::jthread extension([&] {
        const std::vector leases{held[0].lease.value()};
        EXPECT_NO_THROW(EXPECT_EQ(patient->extend(Queue::outbox, leases, 2s), std::vector{true}));
    });
    EXPECT_TRUE(wait_until([&] { return someone_waits(); }, 30s, look_interval));
    other.run(
        "UPDATE outbox_gate SET lease_due = UTC_TIMESTAMP(6) + INTERVAL 30 SECOND WHERE name = "
        "'claim'");
    other.run("COMMIT");
    extension.join();
    EXPECT_EQ(value("SELECT g.lease_due <= l.locked_until FROM outbox_gate AS g, outbox_lease AS l "
                    "WHERE g.name = 'claim'"),
              "1");
}

// Goal: a purge waits for nobody, and what is locked in front does not keep the rest.
TEST_F(MariadbLocks, APurgePassesByWhatSomebodyHasLocked) {
    for (const char* const id : {"a", "b", "c"}) receive(id);
    for (const Message& message : claim(Queue::inbox)) settle(message, Outcome::ack);
    database.sql("UPDATE inbox_key SET last_seen = '2001-01-01'");
    other.run("START TRANSACTION");
    other.run("SELECT * FROM inbox_key WHERE message_id = 'a' FOR UPDATE");
    const PurgeRequest one{.older_than = 1h, .batch = 1};
    EXPECT_EQ(store->purge(Queue::inbox, one).purged, 1U);
    EXPECT_EQ(store->purge(Queue::inbox, one).purged, 1U);
    EXPECT_EQ(store->purge(Queue::inbox, one).purged, 0U);
    EXPECT_EQ(value("SELECT GROUP_CONCAT(message_id) FROM inbox_key"), "a");
    other.run("COMMIT");
    EXPECT_EQ(store->purge(Queue::inbox, {.older_than = 1h}).purged, 1U);
}

TEST_F(MariadbLocks, APurgeOfIdempotencyKeysPassesByWhatSomebodyHasLocked) {
    for (const char* const key : {"a", "b", "c\\'\"\xc3\xbc"})
        Outbox(*store).enqueue({.topic = "t", .payload = "p", .idempotency_key = key});
    database.sql("UPDATE outbox_key SET created_at = '2001-01-01'");
    other.run("START TRANSACTION");
    other.run("CALL outbox_enqueue('t', 'p', NULL, NULL, NULL, 'a', NULL, NULL)");
    EXPECT_EQ(store->purge(Queue::outbox, {.older_than = 1h, .batch = 1}).purged, 1U);
    EXPECT_EQ(store->purge(Queue::outbox, {.older_than = 1h}).purged, 1U);
    EXPECT_EQ(value("SELECT GROUP_CONCAT(idempotency_key) FROM outbox_key"), "a");
    other.run("COMMIT");
}

// Goal: who settles a message waits for no other. Method: several times with few rows, which the
// engine would rather read from end to end than find by their key.
TEST_F(MariadbLocks, ASettleWaitsForNoOtherMessage) {
    enqueue(9);
    const auto fresh = claim(Queue::outbox);
    ASSERT_THAT(fresh, SizeIs(9));
    for (int i = 5; i < 9; ++i) settle(fresh[static_cast<std::size_t>(i)], Outcome::release);
    const auto again = claim(Queue::outbox);
    ASSERT_THAT(again, SizeIs(4));
    other.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    other.run("START TRANSACTION");
    for (const Message& first : {fresh[0], again[0]}) {
        const std::string seq = std::to_string(first.id.seq());
        for (const char* const table : {"live", "waiting", "lease"})
            other.run("SELECT * FROM outbox_" + std::string(table) + " WHERE seq = " + seq +
                      " FOR UPDATE");
    }
    for (std::size_t i = 1; i < 4; ++i) {
        settle(fresh[i], i == 3 ? Outcome::abandon : Outcome::ack, 1h);
        settle(again[i], i == 3 ? Outcome::fail : Outcome::ack);
        EXPECT_EQ(extend(fresh[4], 1h), std::vector{true});
    }
    other.run("COMMIT");
}

TEST_F(MariadbLocks, WhatIsLockedInFrontDoesNotKeepLostMessagesFromBeingTakenBack) {
    enqueue(3);
    ASSERT_THAT(claim(Queue::outbox), SizeIs(3));
    database.sql("UPDATE outbox_lease SET locked_until = '2001-01-01'");
    expect_three_lost_are_taken_back_around_a_locked_one();
}

TEST_F(MariadbLocks, WhatIsLockedInFrontDoesNotKeepLostBornMessagesFromBeingTakenBack) {
    for (int i = 0; i < 3; ++i)
        database.sql(
            "INSERT INTO outbox_live (topic, payload, born_until, lease_id, owner) VALUES ('t', "
            "'', '2001-01-01', 7, x'01')");
    expect_three_lost_are_taken_back_around_a_locked_one();
}

// Goal: one message at a time is claimed behind those that somebody receives or sees again.
TEST_F(MariadbLocks, WhatIsLockedInFrontDoesNotKeepTheRestFromBeingClaimed) {
    for (const char* const id : {"a", "b", "c"}) receive(id);
    const std::string see = "CALL inbox_already_processed(";
    other.run("START TRANSACTION");
    other.run(see + "'a', 's', NULL)");
    other.run(see + "'b', 's', NULL)");
    const auto fresh = claim(Queue::inbox, 1);
    ASSERT_THAT(fresh, SizeIs(1));
    EXPECT_EQ(fresh[0].message_id.str(), "c");
    other.run("COMMIT");
    for (const Message& message : claim(Queue::inbox)) settle(message, Outcome::release);
    settle(fresh[0], Outcome::release);
    // Now all of them wait.
    other.run("START TRANSACTION");
    const std::string locked = value(
        "SELECT GROUP_CONCAT(seq) FROM (SELECT seq FROM inbox_waiting ORDER BY available_at, seq "
        "LIMIT 2) AS d");
    other.run("SELECT * FROM inbox_waiting WHERE seq IN (" + locked + ") FOR UPDATE");
    EXPECT_THAT(claim(Queue::inbox, 1), SizeIs(1));
    other.run("COMMIT");
}

// Goal: a caller in REPEATABLE READ, the engine's default, holds up nobody but those who want what
// it has. Under it a locking read that finds nothing locks the gap in which others write.
TEST_F(MariadbLocks, ACallerInRepeatableReadLocksNoGapThatOthersWriteInto) {
    other.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    receive("fresh");
    ASSERT_THAT(claim(Queue::inbox), SizeIs(1));
    receive("waiting");
    settle(claim(Queue::inbox).at(0), Outcome::release, 1h);
    // A number of which the other tables have no trace, behind all that they have.
    database.sql("UPDATE inbox_waiting SET seq = 1000000");
    database.sql("UPDATE inbox_key SET seq = 1000000 WHERE message_id = 'waiting'");
    for (const std::string known : {"waiting", "fresh"}) {
        other.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        other.run("CALL inbox_already_processed('" + known + "', 's', NULL)");
        other.run("CALL inbox_enqueue('t', 's', '" + known +
                  "', 'p', NULL, NULL, NULL, NULL, NULL)");
        receive("new beside " + known);
        std::vector<std::string> claimed;
        for (const Message& message : claim(Queue::inbox))
            claimed.push_back(message.message_id.str());
        EXPECT_THAT(claimed, testing::Contains("new beside " + known));
        other.run("COMMIT");
    }
}

TEST_F(MariadbLocks, ASettleInRepeatableReadLocksNoGapThatOthersWriteInto) {
    other.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    for (const std::string verb : {"ack", "abandon", "fail"}) {
        enqueue();
        settle(claim(Queue::outbox).at(0), Outcome::release);
        const auto held = claim(Queue::outbox);
        ASSERT_THAT(held, SizeIs(1)) << verb;
        other.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        const std::string lease = std::to_string(held[0].lease->lease_id.value());
        const std::string rest = verb == "ack"       ? ")"
                                 : verb == "abandon" ? ", 'e', 3600, 0)"
                                                     : ", 'e', 0)";
        EXPECT_EQ(other.value("CALL outbox_" + verb + "(" + lease + ", '[\"" +
                              held[0].id.to_string() + "\"]'" + rest),
                  "1");
        enqueue();
        const auto more = claim(Queue::outbox);
        ASSERT_THAT(more, SizeIs(1)) << verb;
        other.run("COMMIT");
        settle(more[0], Outcome::ack);
    }
}

// Goal: an operator who discards holds up nobody, and waits for nobody.
TEST_F(MariadbLocks, ADiscardPassesByWhatSomebodyHasLocked) {
    enqueue(3);
    const auto held = claim(Queue::outbox, 1, 1ms);
    ASSERT_THAT(held, SizeIs(1));
    const std::string seq = std::to_string(held.front().id.seq());
    other.run("START TRANSACTION");
    other.run("DELETE FROM outbox_lease WHERE seq = " + seq);
    other.run("DELETE FROM outbox_live WHERE seq = " + seq);
    std::vector<WorkItemId> all;
    for (const Message& message : store->find(Queue::outbox, {})) all.push_back(message.id);
    ASSERT_THAT(all, SizeIs(3));
    EXPECT_EQ(controls_of(*store)->discard(Queue::outbox, all), 2U);
    EXPECT_THAT(claim(Queue::outbox), IsEmpty());
    other.run("ROLLBACK");
    const auto again = [&] { return claim(Queue::outbox).size() == 1; };
    EXPECT_TRUE(wait_until(again, 60s));
}

}  // namespace
}  // namespace postroom::test::mysql_locks_test
