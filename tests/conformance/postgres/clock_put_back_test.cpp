// A claim that finds the clock put back puts times right, and waits for nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/outbox.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

// Goal: one row that somebody has locked does not hold up all claims.
// Method: lock a lease and a message that waits for its next attempt, as a transaction does that
// settles them and takes its time, and make the next claim find a clock an hour behind.
TEST(PostgresClockPutBack, AClaimWaitsForNoRowThatOthersHaveLocked) {
    const PostgresDatabase database;
    const std::unique_ptr<Store> store = postgres::open_store(
        database.url(), {.deploy_schema = true, .statement_timeout = 5s, .conflict_retries = 0});
    const Outbox outbox(*store);
    outbox.enqueue({.topic = "t", .payload = "retried"});
    outbox.abandon(outbox.claim_due(1), "not now", 1h);
    outbox.enqueue({.topic = "t", .payload = "leased"});
    ASSERT_THAT(outbox.claim_due(1), SizeIs(1));
    Session settling(database.url());
    settling.run(
        "BEGIN; SELECT seq FROM infra.outbox_lease FOR UPDATE; "
        "SELECT seq FROM infra.outbox_waiting FOR UPDATE");
    database.psql(
        "SELECT setval('infra.outbox_clock_seen', "
        "((extract(epoch FROM clock_timestamp()) + 3600) * 1000)::bigint)");
    outbox.enqueue({.topic = "t", .payload = "fresh"});
    std::vector<std::string> payloads;
    for (const Message& message : outbox.claim_due(10)) payloads.push_back(message.payload);
    EXPECT_THAT(payloads, ElementsAre("fresh"));
}

}  // namespace
}  // namespace postroom::test
