// Many messages at once on MariaDB: acknowledged by ranges of their numbers, received in one call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "queue/hot_path.hpp"

namespace postroom::test::mysql_runs_test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

std::vector<ReceivedMessage> received(const std::vector<std::string>& ids) {
    std::vector<ReceivedMessage> out;
    for (const std::string& id : ids)
        out.push_back({.topic = "t", .source = "s", .message_id = id, .payload = "of " + id});
    return out;
}

class MariadbRuns : public testing::Test {
protected:
    // Whoever waits for a lock is told so instead of waiting for the test to end.
    MariadbRuns()
        : store(mysql::open_store(
              database.url(),
              {.deploy_schema = true, .statement_timeout = 20s, .conflict_retries = 0})) {}

    void enqueue(int count) {
        Outbox(*store).enqueue_all(std::vector<NewMessage>(static_cast<std::size_t>(count),
                                                           {.topic = "t", .payload = "p"}));
    }
    std::vector<Message> claim(std::uint32_t batch = 50, Queue queue = Queue::outbox) {
        return store->claim(queue, {.owner = owner, .batch = batch});
    }
    std::vector<Settled> ack(const std::vector<Message>& messages, TxContext* tx = nullptr) {
        std::vector<Settlement> settlements;
        for (const Message& message : messages)
            settlements.push_back({.lease = message.lease.value()});
        return store->settle(tx, messages.at(0).queue, settlements);
    }
    std::string value(const std::string& sql) { return database.sql(sql).at(0).at(0).value(); }
    std::string count(const std::string& table) { return value("SELECT COUNT(*) FROM " + table); }
    void remove(const Message& message) {
        database.sql("DELETE FROM outbox_live WHERE seq = " + std::to_string(message.id.seq()));
    }

    const OwnerToken owner = OwnerToken::generate();
    MariadbDatabase database;
    std::unique_ptr<Store> store;
    NativeSession other{database.url()};
};

// Goal: the usual case goes by ranges. Method: what goes row by row is taken away.
TEST_F(MariadbRuns, AreAcknowledgedWithGapsBetweenThem) {
    for (const char* const by_row : {"outbox_acknowledge", "outbox_acknowledge_rows"})
        database.sql(std::string("DROP PROCEDURE ") + by_row);
    enqueue(20);
    database.sql("DELETE FROM outbox_live WHERE seq IN (4, 9)");
    const auto held = claim();
    ASSERT_THAT(held, SizeIs(18));
    EXPECT_THAT(ack(held), Each(Settled::done));
    EXPECT_EQ(count("outbox_live"), "0");
    EXPECT_EQ(count("outbox_lease"), "0");
    EXPECT_EQ(count("outbox_done"), "18");

    enqueue(8);
    std::vector<Message> of_two = claim(4);
    for (const Message& message : claim(4)) of_two.push_back(message);
    EXPECT_THAT(ack(of_two), Each(Settled::done));
    EXPECT_EQ(count("outbox_done"), "26");
}

TEST_F(MariadbRuns, AreReceivedAndAcknowledgedAtOnceInTheInbox) {
    for (const char* const by_row : {"inbox_acknowledge", "inbox_take_in_one"})
        database.sql(std::string("DROP PROCEDURE ") + by_row);
    for (const ReceiveResult& result : store->receive(nullptr, received({"d", "b", "a", "c", "e"})))
        EXPECT_EQ(result.previous, std::nullopt);
    const auto held = claim(50, Queue::inbox);
    ASSERT_THAT(held, SizeIs(5));
    EXPECT_THAT(ack(held), Each(Settled::done));
    EXPECT_EQ(value("SELECT COUNT(*) FROM inbox_key WHERE state = 2 AND seq IS NULL AND "
                    "processed_at IS NOT NULL AND processed_by = '" +
                    owner.uuid().to_string() + "'"),
              "5");
    EXPECT_EQ(count("inbox_live"), "0");
    EXPECT_EQ(count("inbox_lease"), "0");
}

// Goal: what is no longer held is told apart, and nothing happens to it.
TEST_F(MariadbRuns, LeaveOutWhatSomebodyElseHolds) {
    enqueue(8);
    const auto held = claim();
    const std::string lost = std::to_string(held.at(3).id.seq());
    database.sql("UPDATE outbox_lease SET lease_id = lease_id + 1 WHERE seq = " + lost);
    const auto settled = ack(held);
    for (std::size_t i = 0; i < settled.size(); ++i)
        EXPECT_EQ(settled[i], i == 3 ? Settled::lost : Settled::done) << i;
    EXPECT_EQ(value("SELECT GROUP_CONCAT(seq) FROM outbox_live"), lost);
    EXPECT_EQ(value("SELECT GROUP_CONCAT(seq) FROM outbox_lease"), lost);
    EXPECT_EQ(count("outbox_done"), "7");
}

TEST_F(MariadbRuns, LeaveOutANumberThatWasGivenOutAgain) {
    enqueue(5);
    auto held = claim();
    const auto seq = held.at(2).id.seq();
    database.sql("UPDATE outbox_live SET nonce = nonce + 1 WHERE seq = " + std::to_string(seq));
    EXPECT_THAT(ack(held), ElementsAre(Settled::done, Settled::done, Settled::lost, Settled::done,
                                       Settled::done));
    EXPECT_EQ(value("SELECT GROUP_CONCAT(seq) FROM outbox_live"), std::to_string(seq));
}

TEST_F(MariadbRuns, LeaveOutMessagesThatAreGone) {
    enqueue(5);
    const auto held = claim();
    remove(held.at(4));
    EXPECT_THAT(ack(held), ElementsAre(Settled::done, Settled::done, Settled::done, Settled::done,
                                       Settled::lost));
}

// Goal: messages of several claims are acknowledged together, each by its own lease.
TEST_F(MariadbRuns, OfSeveralLeasesAreAcknowledgedTogether) {
    enqueue(9);
    std::vector<Message> held = claim(3);
    for (const Message& message : claim(3)) held.push_back(message);
    EXPECT_THAT(ack(held), Each(Settled::done));
    EXPECT_EQ(count("outbox_live"), "3");
    EXPECT_EQ(count("outbox_lease"), "0");

    held = claim(2);
    held.push_back(claim(1).at(0));
    std::swap(held[0].lease->lease_id, held[2].lease->lease_id);
    EXPECT_THAT(ack(held), ElementsAre(Settled::lost, Settled::done, Settled::lost));
    EXPECT_EQ(count("outbox_lease"), "2");
}

TEST_F(MariadbRuns, OfSeveralLeasesMayHaveWaited) {
    enqueue(4);
    for (const Message& message : claim(2)) {
        const std::vector<Settlement> release{
            {.lease = message.lease.value(), .outcome = Outcome::release}};
        store->settle(nullptr, Queue::outbox, release);
    }
    std::vector<Message> held;
    for (int i = 0; i < 4; ++i) held.push_back(claim(1).at(0));
    EXPECT_THAT(ack(held), Each(Settled::done));
    EXPECT_EQ(count("outbox_live"), "0");
    EXPECT_EQ(count("outbox_waiting"), "0");
    EXPECT_EQ(count("outbox_lease"), "0");
    EXPECT_EQ(count("outbox_done"), "4");
}

// Goal: so are messages born leased, unless somebody has taken one over.
TEST_F(MariadbRuns, OfMessagesBornLeasedAreAcknowledgedTogether) {
    const std::vector<NewMessage> two(2,
                                      {.topic = "t", .payload = "p", .message_id = MessageId("m")});
    const auto born = [&](std::int64_t lease_id) {
        std::vector<Message> out;
        const BornLease lease{.owner = owner, .lease_id = LeaseId(lease_id), .lease = 1min};
        for (const EnqueueResult& result : store->enqueue(nullptr, two, &lease)) {
            Message& message = out.emplace_back();
            message.lease = Lease{.id = result.id, .lease_id = lease.lease_id, .owner = owner};
        }
        return out;
    };
    std::vector<Message> held = born(7);
    for (const Message& message : born(8)) held.push_back(message);
    EXPECT_THAT(ack(held), Each(Settled::done));
    EXPECT_EQ(count("outbox_live"), "0");

    held = born(9);
    for (const Message& message : born(10)) held.push_back(message);
    database.sql("INSERT INTO outbox_lease VALUES (" + std::to_string(held[1].lease->id.seq()) +
                 ", 11, '2999-01-01', x'01')");
    EXPECT_THAT(ack(held), ElementsAre(Settled::done, Settled::lost, Settled::done, Settled::done));
    EXPECT_EQ(count("outbox_live"), "1");
    EXPECT_EQ(count("outbox_lease"), "1");
}

// Goal: a range ends at its last row. Method: somebody has locked what lies on either side.
TEST_F(MariadbRuns, WaitForNoNeighbour) {
    enqueue(9);
    claim(3);
    const auto held = claim(3);
    claim(3);
    other.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    other.run("START TRANSACTION");
    for (const char* const table : {"outbox_live", "outbox_lease"}) {
        other.run(std::string("SELECT * FROM ") + table + " WHERE seq IN (" +
                  std::to_string(held.at(0).id.seq() - 1) + ", " +
                  std::to_string(held.at(2).id.seq() + 1) + ") FOR UPDATE");
    }
    EXPECT_THAT(ack(held), Each(Settled::done));
    other.run("COMMIT");
}

// Goal: a caller's transaction in REPEATABLE READ locks no gap that others write into.
TEST_F(MariadbRuns, LockNoGapsOfACallerInRepeatableRead) {
    enqueue(4);
    const auto held = claim();
    other.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    other.run("START TRANSACTION");
    const auto borrowed = mysql::borrow(other.handle());
    EXPECT_THAT(ack(held, borrowed.get()), Each(Settled::done));
    store->receive(borrowed.get(), received({"a", "c"}));
    enqueue(2);
    EXPECT_THAT(claim(), SizeIs(2));
    Inbox(*store).enqueue_all(received({"d", "e"}));
    EXPECT_THAT(claim(50, Queue::inbox), SizeIs(2));
    other.run("COMMIT");
    EXPECT_THAT(claim(50, Queue::inbox), SizeIs(2));
}

// Goal: received together or one after the other, the same comes of it. Method: two databases, and
// messages that are new, twice in the call, ready, held, done and dead.
TEST_F(MariadbRuns, AreReceivedAsTheyAreOneByOne) {
    MariadbDatabase second;
    const auto single = mysql::open_store(second.url(), {.deploy_schema = true});
    for (Store* const each : {store.get(), single.get()}) {
        Inbox inbox(*each);
        for (const char* const id : {"done", "dead", "held"}) {
            inbox.enqueue(received({id}).at(0));
            const auto claimed = each->claim(Queue::inbox, {.owner = owner});
            ASSERT_THAT(claimed, SizeIs(1));
            if (std::string_view(id) == "held") continue;
            const std::vector<Settlement> settlement{
                {.lease = claimed[0].lease.value(),
                 .outcome = std::string_view(id) == "done" ? Outcome::ack : Outcome::fail}};
            each->settle(nullptr, Queue::inbox, settlement);
        }
        inbox.enqueue(received({"ready"}).at(0));
    }
    auto messages =
        received({"new", "done", "dead", "held", "ready", "new", "newer", "later", "\xc3\xbc"});
    messages[0].headers = {{"k", "v\"\\"}};
    messages[1].hash = std::string("\0\xff", 2);
    messages[6].max_attempts = 3;
    messages[6].priority = 2;
    messages[6].payload = std::string("\0\x80 any bytes", 12);
    messages[7].due_time = std::chrono::time_point_cast<Duration>(SystemClock().now() + 1h);
    const auto together = store->receive(nullptr, messages, false);
    ASSERT_THAT(together, SizeIs(messages.size()));
    // In the order in which the store takes them: by key.
    std::vector<ReceiveResult> alone(messages.size());
    for (const std::size_t i : {2U, 1U, 3U, 7U, 0U, 5U, 6U, 4U, 8U})
        alone[i] = single->receive(nullptr, std::span(messages).subspan(i, 1), false).at(0);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        EXPECT_EQ(together[i].previous, alone[i].previous) << i;
        EXPECT_EQ(together[i].hash_mismatch, alone[i].hash_mismatch) << i;
        EXPECT_EQ(together[i].id == WorkItemId{}, alone[i].id == WorkItemId{}) << i;
    }
    EXPECT_EQ(together[0].id, together[5].id);
    const std::string contents =
        "SELECT message_id, topic, HEX(payload), HEX(hash), headers, content_type, priority, "
        "max_attempts, ordering_key, source ";
    for (const std::string& sql :
         {contents + "FROM inbox_live ORDER BY message_id",
          contents + ", state, retry_count, dead_reason FROM inbox_waiting ORDER BY message_id",
          std::string("SELECT message_id, source, state, topic, HEX(hash), seq IS NULL, "
                      "first_seen = last_seen FROM inbox_key ORDER BY message_id")})
        EXPECT_EQ(database.sql(sql), second.sql(sql)) << sql;
}

}  // namespace
}  // namespace postroom::test::mysql_runs_test
