// The rules of the storage on PostgreSQL. Each closes a hole: without its rule the test fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "queue/hot_path.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::storage_rules {
namespace {

using namespace std::chrono_literals;

constexpr const char* claim_lock =
    "LOCK TABLE infra.outbox_claim_gate IN SHARE UPDATE EXCLUSIVE MODE";
constexpr const char* owner = "'00000000-0000-4000-8000-00000000000a'";

// No number becomes final while a transaction of another test on the same server goes on.
constexpr auto patience = 120s;

NewMessage message(const std::string& payload = "{}") {
    NewMessage m;
    m.topic = TopicName("rule");
    m.payload = payload;
    static std::atomic<int> count{0};
    m.message_id = MessageId("rule-" + std::to_string(++count));
    return m;
}

class StorageRule : public testing::Test {
protected:
    std::vector<WorkItemId> put(std::size_t count, const BornLease* born = nullptr) {
        std::vector<NewMessage> messages;
        for (std::size_t i = 0; i < count; ++i) messages.push_back(message());
        std::vector<WorkItemId> ids;
        for (const EnqueueResult& r : store->enqueue(nullptr, messages, born)) ids.push_back(r.id);
        return ids;
    }
    void put_in_line(const std::string& key, int count) {
        for (int i = 0; i < count; ++i) {
            NewMessage next = message();
            next.ordering_key = key;
            store->enqueue(nullptr, std::vector{next});
        }
    }
    std::vector<Message> claim(std::uint32_t batch = 100, Duration lease = 5min) {
        return store->claim(Queue::outbox,
                            {.owner = OwnerToken::generate(), .lease = lease, .batch = batch});
    }
    std::vector<Settled> ack(const std::vector<Message>& messages) {
        std::vector<Settlement> settlements;
        for (const Message& m : messages) settlements.push_back({.lease = *m.lease});
        return store->settle(nullptr, Queue::outbox, settlements);
    }
    // Claims until `count` messages came or half a minute passed.
    std::set<WorkItemId> claim_all(std::size_t count) {
        std::set<WorkItemId> ids;
        wait_until(
            [&] {
                for (const Message& m : claim(1000))
                    EXPECT_TRUE(ids.insert(m.id).second) << "claimed twice";
                return ids.size() >= count;
            },
            30s, 20ms);
        return ids;
    }

    // Claims that find nothing move it up, while others commit.
    bool floor_rises_above(int number) {
        return wait_until(
            [&] {
                EXPECT_TRUE(claim().empty());
                return database.psql("SELECT last_value > " + std::to_string(number) +
                                     " FROM infra.outbox_floor") == SqlRows{{"t"}};
            },
            patience, 20ms);
    }

    bool somebody_waits_for(const std::string& event) {
        return wait_until(
            [&] {
                return database.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = '" +
                                     event + "' AND datname = current_database()") ==
                       SqlRows{{"1"}};
            },
            patience);
    }

    PostgresDatabase database;
    std::unique_ptr<Store> store = postgres::open_store(database.url(), {.deploy_schema = true});
};

TEST_F(StorageRule, AStaleAckAfterATakeOverChangesNothing) {
    put(1);
    const auto first = claim(1, 50ms);
    std::this_thread::sleep_for(80ms);
    const auto second = claim(1);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].lost_count, 1U);
    EXPECT_EQ(ack(first), std::vector{Settled::lost});
    EXPECT_EQ(ack(second), std::vector{Settled::done});
}

TEST_F(StorageRule, AStaleAckOfAMessageBornLeasedChangesNothing) {
    const BornLease held{.owner = OwnerToken::generate(), .lease_id = LeaseId(76), .lease = 5min};
    put(1, &held);
    EXPECT_TRUE(claim().empty());
    const BornLease born{.owner = OwnerToken::generate(), .lease_id = LeaseId(77), .lease = 50ms};
    const auto ids = put(1, &born);
    std::this_thread::sleep_for(80ms);
    const auto second = claim();
    ASSERT_EQ(second.size(), 1U);
    const std::vector<Settlement> stale{
        {.lease = {.id = ids[0], .lease_id = LeaseId(77), .owner = born.owner}}};
    EXPECT_EQ(store->settle(nullptr, Queue::outbox, stale), std::vector{Settled::lost});
    EXPECT_EQ(ack(second), std::vector{Settled::done});
}

TEST_F(StorageRule, AnAckThatWaitsForATakeOverLoses) {
    put(1);
    const auto claimed = claim(1, 1ms);
    std::this_thread::sleep_for(20ms);
    Session reaper(database.url());
    reaper.run("BEGIN");
    EXPECT_EQ(reaper.value("SELECT infra.outbox_do_reap(10)"), "1");
    auto late = std::async(std::launch::async, [&] { return ack(claimed); });
    EXPECT_EQ(late.wait_for(100ms), std::future_status::timeout);
    reaper.run("COMMIT");
    EXPECT_EQ(late.get(), std::vector{Settled::lost});
    EXPECT_EQ(claim().size(), 1U);
}

// A worker that is told its lease stands would go on, or even begin, while another gets the
// message.
TEST_F(StorageRule, ALeaseThatIsBeingTakenOverIsNotProlonged) {
    put(2);
    const auto standing = claim(1);
    const auto over = claim(1, 1ms);
    std::this_thread::sleep_for(20ms);
    Session reaper(database.url());
    reaper.run("BEGIN");
    EXPECT_EQ(reaper.value("SELECT infra.outbox_do_reap(10)"), "1");
    const std::vector<Lease> leases{*over.at(0).lease, *standing.at(0).lease};
    EXPECT_EQ(store->extend(Queue::outbox, leases, 5min), (std::vector{false, true}));
    reaper.run("COMMIT");
    EXPECT_EQ(claim().size(), 1U);
}

TEST_F(StorageRule, AMessageBornLeasedThatIsBeingAckedIsNotLost) {
    const BornLease born{.owner = OwnerToken::generate(), .lease_id = LeaseId(76), .lease = 5min};
    const Lease lease{.id = put(1, &born)[0], .lease_id = born.lease_id, .owner = born.owner};
    const auto tx = store->begin();
    const std::vector<Settlement> settlement{{.lease = lease}};
    EXPECT_EQ(store->settle(tx.get(), Queue::outbox, settlement), std::vector{Settled::done});
    EXPECT_EQ(store->extend(Queue::outbox, std::vector{lease}, 5min), std::vector{true});
    tx->commit();
}

TEST_F(StorageRule, ATakeOverPassesByWhatIsBeingAcked) {
    put(1);
    const auto claimed = claim(1, 1ms);
    std::this_thread::sleep_for(20ms);
    const auto tx = store->begin();
    const std::vector<Settlement> settlement{{.lease = *claimed[0].lease}};
    EXPECT_EQ(store->settle(tx.get(), Queue::outbox, settlement), std::vector{Settled::done});
    EXPECT_EQ(store->reap(Queue::outbox, 10), 0U);
    EXPECT_TRUE(claim().empty());
    tx->commit();
    EXPECT_EQ(store->reap(Queue::outbox, 10), 0U);
    EXPECT_EQ(store->counts(Queue::outbox).ready, 0U);
}

// A claim that waits for the lock must see what the holder of the lock leased or settled.
TEST_F(StorageRule, AClaimSeesWhatWasCommittedWhileItWaitedForTheLock) {
    put(20);
    Session holder(database.url());
    holder.run(std::string("BEGIN; ") + claim_lock);
    auto waiting = std::async(std::launch::async, [&] { return claim(); });
    ASSERT_TRUE(somebody_waits_for("relation"));
    holder.run(
        std::string("INSERT INTO infra.outbox_lease SELECT seq, 1, now() + interval '1 hour', ") +
        owner +
        " FROM infra.outbox_live WHERE seq <= 10; DELETE FROM infra.outbox_live WHERE seq > 10; "
        "COMMIT");
    EXPECT_THAT(waiting.get(), testing::IsEmpty());
}

TEST_F(StorageRule, LeaseIdsAreRandomAndNotACounterOfTheDatabase) {
    put(20);
    std::set<LeaseId> ids;
    int large = 0;
    for (int i = 0; i < 20; ++i) {
        const auto claimed = claim(1);
        ASSERT_EQ(claimed.size(), 1U);
        ids.insert(claimed[0].lease->lease_id);
        const std::int64_t value = claimed[0].lease->lease_id.value();
        large += value > (std::int64_t{1} << 40) || value < -(std::int64_t{1} << 40) ? 1 : 0;
    }
    EXPECT_EQ(ids.size(), 20U);
    EXPECT_GT(large, 15);
}

TEST_F(StorageRule, ARolledBackSavepointDropsItsMessageAndLeavesTheTransactionUsable) {
    const auto tx = store->begin();
    tx->execute({.sql = "SAVEPOINT before", .params = {}});
    store->enqueue(tx.get(), std::vector{message("dropped")});
    tx->execute({.sql = "ROLLBACK TO before", .params = {}});
    store->enqueue(tx.get(), std::vector{message("kept")});
    tx->commit();
    const auto claimed = claim();
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(claimed[0].payload, "kept");
}

TEST_F(StorageRule, ADuplicateKeyLeavesABorrowedTransactionUsable) {
    NewMessage keyed = message();
    keyed.idempotency_key = "once";
    Session mine(database.url());
    mine.run("CREATE TABLE orders (id int); BEGIN; INSERT INTO orders VALUES (1)");
    const auto borrowed = postgres::borrow(mine.native());
    const auto first = store->enqueue(borrowed.get(), std::vector{keyed});
    const auto again = store->enqueue(borrowed.get(), std::vector{keyed});
    EXPECT_FALSE(first.at(0).already_existed);
    EXPECT_TRUE(again.at(0).already_existed);
    EXPECT_EQ(first.at(0).id, again.at(0).id);
    mine.run("INSERT INTO orders VALUES (2); COMMIT");
    EXPECT_EQ(mine.value("SELECT count(*) FROM orders"), "2");
    EXPECT_EQ(claim().size(), 1U);
}

TEST_F(StorageRule, AnAbortedBorrowedTransactionIsMisuse) {
    Session mine(database.url());
    mine.run("BEGIN");
    EXPECT_THROW(mine.run("SELECT 1/0"), SqlError);
    const auto borrowed = postgres::borrow(mine.native());
    try {
        store->enqueue(borrowed.get(), std::vector{message()});
        FAIL() << "wrote into a failed transaction";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::misuse);
        EXPECT_THAT(error.what(), testing::HasSubstr("roll it back"));
    }
}

// The lock is gone before the messages stream: a client that stops reading stops nobody else.
TEST_F(StorageRule, AClaimerThatStopsReadingDoesNotStopOthers) {
    std::vector<NewMessage> large;
    for (int i = 0; i < 40; ++i) large.push_back(message(std::string(1024 * 1024, 'x')));
    store->enqueue(nullptr, large);
    put(1);

    Session frozen(database.url());
    PGconn* const connection = frozen.native();
    ASSERT_EQ(PQenterPipelineMode(connection), 1);
    const auto send = [&](const std::string& sql) {
        ASSERT_EQ(
            PQsendQueryParams(connection, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1),
            1);
        ASSERT_EQ(PQpipelineSync(connection), 1);
    };
    send(std::string("SELECT infra.outbox_do_claim(") + owner +
         ", 5, 60000000, 40, 40, 10, 20, 0, 0, true)");
    send("SELECT payload FROM infra.outbox_do_read(5)");
    ASSERT_TRUE(somebody_waits_for("ClientWrite"));
    auto other = std::async(std::launch::async, [&] { return claim(); });
    ASSERT_EQ(other.wait_for(20s), std::future_status::ready);
    EXPECT_EQ(other.get().size(), 1U);
}

// A number drawn first and committed last, when the claims have long passed it.
TEST_F(StorageRule, ALateCommitBelowTheMarkIsFound) {
    Session late(database.url());
    late.run("BEGIN; INSERT INTO infra.outbox_live (topic, payload) VALUES ('late', '')");
    put(500);
    EXPECT_EQ(claim_all(500).size(), 500U);
    EXPECT_GT(std::stoll(late.value("SELECT last_value FROM infra.outbox_mark")), 400);
    late.run("COMMIT");
    EXPECT_EQ(claim_all(1).size(), 1U);
}

TEST_F(StorageRule, ALateCommitIsFoundWhileOtherTrafficRunsOn) {
    Session late(database.url());
    late.run("BEGIN; INSERT INTO infra.outbox_live (topic, payload) VALUES ('late', '')");
    for (int round = 0; round < 20; ++round) {
        put(100);
        ack(claim(100));
        std::this_thread::sleep_for(5ms);
    }
    late.run("COMMIT");
    EXPECT_EQ(claim_all(1).size(), 1U);
    EXPECT_EQ(store->counts(Queue::outbox).ready, 0U);
}

// The end of a snapshot does not tell that transactions run beyond it.
TEST_F(StorageRule, ALateCommitIsFoundWhereNothingElseIsWritten) {
    put(1);
    ack(claim());  // with the first, full look
    Session late(database.url());
    late.run("BEGIN; INSERT INTO infra.outbox_live (topic, payload) VALUES ('late', '')");
    for (int round = 0; round < 8; ++round) {
        EXPECT_TRUE(claim().empty());
        std::this_thread::sleep_for(20ms);
    }
    late.run("COMMIT");
    EXPECT_EQ(claim().size(), 1U);
}

// A number is drawn, and then its transaction waits for another's key.
TEST_F(StorageRule, AMessageThatWaitedForAKeyIsFoundAtOnce) {
    put(1);
    ack(claim());
    const std::string enqueue =
        "SELECT infra.outbox_enqueue('waits', ''::bytea, idempotency_key => 'key')";
    Session holder(database.url());
    holder.run("BEGIN; " + enqueue);
    auto waiting = std::async(std::launch::async, [&] { database.psql(enqueue); });
    for (int round = 0; round < 8; ++round) {
        EXPECT_TRUE(claim().empty());
        std::this_thread::sleep_for(20ms);
    }
    holder.run("ROLLBACK");
    waiting.get();
    EXPECT_EQ(claim().size(), 1U);
}

// The mark does not come back with a rollback.
TEST_F(StorageRule, MessagesOfARolledBackClaimAreClaimedAgain) {
    put(500);
    Session worker(database.url());
    // At once: a session that goes idle with a claim is ended.
    worker.run(std::string("BEGIN; SELECT infra.outbox_do_claim(") + owner +
               ", 5, 60000000, 500, 500, 125, 250, 0, 0, false); ROLLBACK");
    EXPECT_GT(std::stoll(worker.value("SELECT last_value FROM infra.outbox_mark")), 400);
    EXPECT_EQ(claim_all(500).size(), 500U);
}

// Without raising it, claims would walk over everything that was born leased and settled since.
TEST_F(StorageRule, TheMarkFollowsTrafficThatIsBornLeased) {
    for (int round = 0; round < 5; ++round) {
        const BornLease born{
            .owner = OwnerToken::generate(), .lease_id = LeaseId(round + 1), .lease = 1min};
        std::vector<Settlement> settlements;
        for (const WorkItemId& id : put(200, &born)) {
            settlements.push_back(
                {.lease = {.id = id, .lease_id = born.lease_id, .owner = born.owner}});
        }
        const auto results = store->settle(nullptr, Queue::outbox, settlements);
        EXPECT_EQ(std::count(results.begin(), results.end(), Settled::done), 200);
        EXPECT_TRUE(claim().empty());
        std::this_thread::sleep_for(40ms);
    }
    EXPECT_TRUE(wait_until(
        [&] {
            EXPECT_TRUE(claim().empty());
            return std::stoll(database.psql("SELECT last_value FROM infra.outbox_mark")
                                  .at(0)
                                  .at(0)
                                  .value()) > 900;
        },
        patience, 50ms));
}

// They have no index: each look walks a piece of the way, whatever else lies there and is not
// claimed.
TEST_F(StorageRule, ABornLeaseThatRanOutIsFoundBetweenThousandsOfOtherMessages) {
    const auto is_taken_back = [&] {
        claim(1);
        return database.psql("SELECT lost_count FROM infra.outbox_waiting") == SqlRows{{"1"}};
    };
    for (const bool after_a_walk : {false, true}) {
        put(1500);
        const BornLease born{
            .owner = OwnerToken::generate(), .lease_id = LeaseId(77), .lease = 1ms};
        if (after_a_walk) {
            // The mark has come to the end meanwhile, and stays below what is not final.
            EXPECT_TRUE(wait_until(
                [&] {
                    claim(1);
                    return database.psql("SELECT last_value > 4000 FROM infra.outbox_born_mark") ==
                           SqlRows{{"t"}};
                },
                60s, 5ms));
        }
        put(1, &born);
        put(1500);
        EXPECT_TRUE(wait_until(is_taken_back, 60s, 5ms));
        database.psql("DELETE FROM infra.outbox_waiting");
    }
    const BornLease born{.owner = OwnerToken::generate(), .lease_id = LeaseId(78), .lease = 1ms};
    put(1, &born);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(store->reap(Queue::outbox, 10), 1U);
}

// A message stays in live while it is held, with the lease that it was born with.
TEST_F(StorageRule, AStaleBornLeaseSettlesNothingThatIsHeld) {
    for (const char* const keep : {"true", "false"}) {
        const BornLease born{
            .owner = OwnerToken::generate(), .lease_id = LeaseId(77), .lease = 1min};
        const WorkItemId id = put(1, &born).at(0);
        const std::string item = "'{" + std::to_string(id.seq()) + "}', '{" +
                                 std::to_string(static_cast<std::int64_t>(id.nonce())) + "}', ";
        const auto ack_with = [&](int lease) {
            return database
                .psql("SELECT * FROM infra.outbox_do_ack(" + item + std::to_string(lease) + ", " +
                      owner + ", " + keep + ")")
                .size();
        };
        database.psql("UPDATE infra.outbox_live SET born_until = now() - interval '1 minute'");
        ASSERT_EQ(
            database
                .psql("SELECT * FROM infra.outbox_do_hold(" + item + "88, " + owner + ", 60000000)")
                .size(),
            1U);
        EXPECT_EQ(ack_with(77), 0U);
        EXPECT_EQ(ack_with(88), 1U);
    }
}

// The transaction ids of rows tell whether a savepoint was open.
TEST_F(StorageRule, AJoinedTransactionWithoutASavepointIsTheTopLevel) {
    const BornLease born{.owner = OwnerToken::generate(), .lease_id = LeaseId(1), .lease = 1min};
    const auto tx = store->begin();
    const auto bear = [&](std::size_t count) {
        std::vector<NewMessage> messages;
        for (std::size_t i = 0; i < count; ++i) messages.push_back(message());
        return store->enqueue(tx.get(), messages, &born);
    };
    for (const EnqueueResult& written : bear(2)) EXPECT_TRUE(written.top_level);
    EXPECT_TRUE(bear(1).at(0).top_level);
    tx->execute({.sql = "SAVEPOINT s", .params = {}});
    for (const EnqueueResult& written : bear(2)) EXPECT_FALSE(written.top_level);
    tx->execute({.sql = "RELEASE SAVEPOINT s", .params = {}});
    EXPECT_TRUE(bear(1).at(0).top_level);
    tx->commit();
}

TEST_F(StorageRule, AReapDoesNotWaitForALeaseThatSomebodyHasLocked) {
    put(2);
    ASSERT_EQ(claim(2, 1ms).size(), 2U);
    std::this_thread::sleep_for(20ms);
    Session holder(database.url());
    holder.run("BEGIN; SELECT FROM infra.outbox_lease ORDER BY seq LIMIT 1 FOR UPDATE");
    auto reaped = std::async(std::launch::async, [&] { return store->reap(Queue::outbox, 10); });
    ASSERT_EQ(reaped.wait_for(20s), std::future_status::ready);
    EXPECT_EQ(reaped.get(), 1U);
    holder.run("COMMIT");
    EXPECT_EQ(store->reap(Queue::outbox, 10), 1U);
}

// A number below the floor counts as final; only the round from the first number on looks there.
TEST_F(StorageRule, ARowBelowTheFloorIsFoundByAFullLook) {
    put(500);
    ack(claim(500));
    const std::string far_off = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 500000";
    database.psql("SELECT setval('infra.outbox_full_look_at', " + far_off + ")");
    ASSERT_TRUE(floor_rises_above(400));
    database.psql("INSERT INTO infra.outbox_live (seq, topic, payload) VALUES (3, 'late', '')");
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(claim().empty());
        std::this_thread::sleep_for(20ms);
    }
    database.psql("SELECT setval('infra.outbox_full_look_at', 1)");
    EXPECT_EQ(claim_all(1).size(), 1U);
}

// No number becomes final while an old transaction runs, and leases stand above the mark.
TEST_F(StorageRule, ARowBelowTheFloorIsFoundBesideAnOldTransaction) {
    put(500);
    ack(claim(500));
    ASSERT_TRUE(floor_rises_above(400));
    Session old(database.url());
    old.run("BEGIN; SELECT pg_current_xact_id()");
    database.psql(std::string("INSERT INTO infra.outbox_lease (seq, lease_id, locked_until, owner) "
                              "VALUES (100000, 9, now() + interval '1 hour', ") +
                  owner + ")");
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(claim().empty());
        std::this_thread::sleep_for(20ms);
    }
    database.psql("INSERT INTO infra.outbox_live (seq, topic, payload) VALUES (3, 'late', '')");
    database.psql("SELECT setval('infra.outbox_full_look_at', 1)");
    EXPECT_EQ(claim_all(1).size(), 1U);
}

// Ordering keys. Whoever settles leaves a note; claims alone decide who stands behind whom.

TEST_F(StorageRule, AClaimDoesNotWaitForASettleOfTheSameKey) {
    put_in_line("k", 3);
    const auto first = claim();
    ASSERT_EQ(first.size(), 1U);
    const auto tx = store->begin();
    const std::vector<Settlement> settlement{{.lease = *first[0].lease}};
    EXPECT_EQ(store->settle(tx.get(), Queue::outbox, settlement), std::vector{Settled::done});
    auto other = std::async(std::launch::async, [&] { return claim(); });
    ASSERT_EQ(other.wait_for(20s), std::future_status::ready);
    EXPECT_TRUE(other.get().empty());
    tx->commit();
    EXPECT_EQ(claim().size(), 1U);
}

// The claim that marks the second message sees the first, which is already being acknowledged.
TEST_F(StorageRule, AMessageMarkedWhileTheOneBeforeItLeavesIsNotForgotten) {
    put_in_line("k", 1);
    const auto first = claim();
    const auto tx = store->begin();
    const std::vector<Settlement> settlement{{.lease = *first[0].lease}};
    store->settle(tx.get(), Queue::outbox, settlement);
    put_in_line("k", 1);
    EXPECT_TRUE(claim().empty());
    EXPECT_EQ(database.psql("SELECT behind FROM infra.outbox_waiting ORDER BY seq DESC LIMIT 1"),
              (SqlRows{{"t"}}));
    tx->commit();
    EXPECT_EQ(claim().size(), 1U);
}

// A snapshot that is older than the message to come does not keep its key from going on.
TEST_F(StorageRule, ASettleUnderRepeatableReadLetsTheNextGo) {
    put_in_line("k", 1);
    const auto first = claim();
    Session mine(database.url());
    mine.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM infra.outbox_waiting");
    put_in_line("k", 1);
    EXPECT_TRUE(claim().empty());
    const auto borrowed = postgres::borrow(mine.native());
    const std::vector<Settlement> settlement{{.lease = *first[0].lease}};
    EXPECT_EQ(store->settle(borrowed.get(), Queue::outbox, settlement), std::vector{Settled::done});
    mine.run("COMMIT");
    EXPECT_EQ(claim().size(), 1U);
}

TEST_F(StorageRule, ALateCommitOfAKeyGoesNext) {
    Session late(database.url());
    late.run("BEGIN; SELECT infra.outbox_enqueue('late', ''::text, ordering_key => 'k')");
    put_in_line("k", 2);
    const auto second = claim();
    ASSERT_EQ(second.size(), 1U);
    late.run("COMMIT");
    EXPECT_TRUE(claim().empty()) << "the key is held";
    ack(second);
    const auto next = claim();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].topic, "late");
    ack(next);
    EXPECT_EQ(claim().size(), 1U);
}

TEST_F(StorageRule, AMessageRemovedByHandLetsTheNextGo) {
    put_in_line("k", 3);
    ASSERT_EQ(claim(10, 1ms).size(), 1U);
    database.psql("DELETE FROM infra.outbox_waiting WHERE seq = 1; DELETE FROM infra.outbox_lease");
    const auto next = claim();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].id.seq(), 2U);
}

// A row that somebody changes is not waited for, and its note is kept.
TEST_F(StorageRule, AClaimPassesByTheNextOfAKeyWhileItIsLocked) {
    put_in_line("k", 2);
    put_in_line("free", 1);
    const auto claimed = claim();
    ASSERT_EQ(claimed.size(), 2U);
    Session holder(database.url());
    holder.run("BEGIN; SELECT FROM infra.outbox_waiting WHERE seq = 2 FOR UPDATE");
    ack(claimed);
    put_in_line("free", 1);
    auto other = std::async(std::launch::async, [&] { return claim(); });
    ASSERT_EQ(other.wait_for(20s), std::future_status::ready);
    EXPECT_EQ(other.get().size(), 1U);
    holder.run("COMMIT");
    EXPECT_EQ(claim().size(), 1U);
}

TEST_F(StorageRule, AReusedNumberDoesNotSettleAnotherMessage) {
    put(1);
    const auto claimed = claim();
    // The database came back with an older state: the same number, another message, even the same
    // lease.
    database.psql("UPDATE infra.outbox_live SET nonce = nonce + 1");
    EXPECT_EQ(ack(claimed), std::vector{Settled::lost});
    EXPECT_EQ(database.psql("SELECT count(*) FROM infra.outbox_live"), (SqlRows{{"1"}}));
}

}  // namespace
}  // namespace postroom::test::storage_rules
