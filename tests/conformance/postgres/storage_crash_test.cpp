// Rules of the storage that need a server of their own: to crash it, or to be alone on it.
#include "postroom/backend/postgres.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/postgres/session.hpp"
#include "postroom/store.hpp"
#include "support/private_postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::storage_crash_test {
namespace {

using namespace std::chrono_literals;

class StorageRuleCrash : public testing::Test {
protected:
    static ClaimRequest request(Duration lease, std::uint32_t batch = 10) {
        return {.owner = OwnerToken::generate(), .lease = lease, .batch = batch};
    }

    std::vector<NewMessage> messages(int count) {
        std::vector<NewMessage> out;
        for (int i = 0; i < count; ++i)
            out.push_back({.topic = "rule",
                           .payload = "{}",
                           .message_id = MessageId("rule-" + std::to_string(++made_))});
        return out;
    }

    PrivatePostgres postgres;
    const PostgresDatabase database{postgres.server()};
    const std::unique_ptr<Store> store =
        postgres::open_store(database.url(), {.deploy_schema = true});

private:
    int made_ = 0;
};

TEST_F(StorageRuleCrash, LeasesAndMarksAreForgottenTogether) {
    store->enqueue(nullptr, messages(300));
    const ClaimRequest all = request(5min, 1000);
    const auto before = store->claim(Queue::outbox, all);
    ASSERT_EQ(before.size(), 300U);
    std::vector<Settlement> half;
    for (std::size_t i = 0; i < 150; ++i) half.push_back({.lease = *before[i].lease});
    store->settle(nullptr, Queue::outbox, half);

    postgres.crash_restart();
    const auto after = store->claim(Queue::outbox, all);
    EXPECT_EQ(after.size(), 150U);
    std::vector<Settlement> stale;
    for (std::size_t i = 150; i < 300; ++i) stale.push_back({.lease = *before[i].lease});
    const auto results = store->settle(nullptr, Queue::outbox, stale);
    EXPECT_EQ(std::count(results.begin(), results.end(), Settled::lost), 150);
}

// The handler that held it may still be at work.
TEST_F(StorageRuleCrash, AfterLostLeasesAnOrderingKeyRestsForTheLongestLease) {
    std::vector<NewMessage> three = messages(3);
    three[0].ordering_key = three[1].ordering_key = "k";
    store->enqueue(nullptr, three);
    const ClaimRequest all = request(4s);
    ASSERT_EQ(store->claim(Queue::outbox, all).size(), 2U);

    postgres.crash_restart();
    const auto lost_at = std::chrono::steady_clock::now();
    const auto unordered = store->claim(Queue::outbox, request(1ms));
    ASSERT_EQ(unordered.size(), 1U);
    EXPECT_EQ(unordered[0].ordering_key, "");
    std::vector<Message> ordered;
    while (ordered.empty() && std::chrono::steady_clock::now() < lost_at + 60s) {
        std::this_thread::sleep_for(20ms);
        ordered = store->claim(Queue::outbox, all);
        std::erase_if(ordered, [](const Message& m) { return m.ordering_key.empty(); });
    }
    // The server counts by another clock, and in milliseconds.
    EXPECT_GE(std::chrono::steady_clock::now() - lost_at, 3900ms);
    ASSERT_EQ(ordered.size(), 1U);
    EXPECT_EQ(ordered[0].ordering_key, "k");
}

// Goal: a message is found whose number was drawn before its transaction had the id by which others
// see that it runs. Method: an INSERT is stopped between the two, and two rounds of claims go by.
// Alone on the server, because any other transaction would keep the number from being taken for
// final.
TEST_F(StorageRuleCrash, ANumberDrawnBeforeItsTransactionHasAnIdIsNotPassedBy) {
    Session claims(database.url());
    const auto round = [&] {
        claims.run("SELECT setval('infra.outbox_look_at', 1)");
        claims.run("SELECT infra.outbox_look(10)");
    };
    // The first number is logged, which gives its transaction an id; the next ones are not.
    claims.run("SELECT nextval('infra.outbox_number')");
    // With the full round, which would find everything and is not due again for half a minute.
    EXPECT_TRUE(store->claim(Queue::outbox, request(1min)).empty());
    for (int i = 0; i < 3; ++i) round();
    Session gate(database.url());
    gate.run("SELECT pg_advisory_lock(1)");
    auto late = std::async(std::launch::async, [&] {
        database.psql(
            "INSERT INTO infra.outbox_live (seq, topic, payload) SELECT d.n, 'late', '' FROM "
            "(SELECT nextval('infra.outbox_number') AS n, pg_advisory_xact_lock(1) OFFSET 0) d");
    });
    ASSERT_TRUE(wait_until(
        [&] { return claims.value("SELECT last_value FROM infra.outbox_number") == "2"; }, 30s));
    for (int i = 0; i < 2; ++i) round();
    gate.run("SELECT pg_advisory_unlock(1)");
    late.get();
    EXPECT_EQ(store->claim(Queue::outbox, request(1min)).size(), 1U);
}

}  // namespace
}  // namespace postroom::test::storage_crash_test
