// Through PgBouncer in transaction mode: nothing of ours stays on a server connection that others
// will use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postroom/backend/postgres.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

NewMessage message(int number) {
    NewMessage m;
    m.topic = TopicName("pooled");
    m.payload = "{}";
    m.message_id = MessageId("pooled-" + std::to_string(number));
    return m;
}

// Claims, settles and purges through the pooler, ten times over.
void work_through(Store& store) {
    for (int round = 0; round < 10; ++round) {
        store.enqueue(nullptr, std::vector{message(2 * round), message(2 * round + 1)});
        std::vector<Settlement> settlements;
        for (const Message& m : store.claim(
                 Queue::outbox, {.owner = OwnerToken::generate(), .lease = 1min, .batch = 10})) {
            settlements.push_back({.lease = *m.lease});
        }
        EXPECT_EQ(settlements.size(), 2U);
        store.settle(nullptr, Queue::outbox, settlements);
        store.reap(Queue::outbox, 10);
        store.purge(Queue::outbox, {.older_than = 1h});
    }
}

class Pooler : public testing::Test {
protected:
    Pooler() { postgres::open_store(database.url(), {.deploy_schema = true}); }

    // The answers of the server connections behind the pooler; some are asked more than once.
    void expect_on_every_connection(const std::string& query, const std::string& answer) {
        for (int i = 0; i < 20; ++i) {
            EXPECT_EQ(psql(database.via_pgbouncer_url(), query), (SqlRows{{answer}})) << query;
        }
    }

    PostgresDatabase database;
};

TEST_F(Pooler, NoSettingOutlivesItsTransaction) {
    const auto store = postgres::open_store(database.via_pgbouncer_url(), {.pooled = true});
    work_through(*store);
    // These are the ones that the pooler itself sets for each client.
    expect_on_every_connection(
        "SELECT coalesce(string_agg(name, ','), 'none') FROM pg_settings WHERE source = 'session' "
        "AND name NOT IN "
        "('application_name', 'client_encoding', 'DateStyle', 'TimeZone', "
        "'standard_conforming_strings')",
        "none");
    expect_on_every_connection("SHOW synchronous_commit", "on");
    expect_on_every_connection("SHOW enable_seqscan", "on");
}

TEST_F(Pooler, NoPreparedStatementAndNoLockIsLeftBehind) {
    const auto store = postgres::open_store(database.via_pgbouncer_url(), {.pooled = true});
    work_through(*store);
    expect_on_every_connection("SELECT count(*)::text FROM pg_prepared_statements", "0");
    // The server's own upkeep takes such locks too.
    EXPECT_EQ(database.psql("SELECT count(*) FROM pg_locks WHERE (locktype = 'advisory' OR mode = "
                            "'ShareUpdateExclusiveLock') AND database = "
                            "(SELECT oid FROM pg_database WHERE datname = current_database()) AND "
                            "pid IN (SELECT pid FROM pg_stat_activity WHERE backend_type = "
                            "'client backend')"),
              (SqlRows{{"0"}}));
}

}  // namespace
}  // namespace postroom::test
