// The roles of docs/guides/roles-and-grants.md: what each may do, and what not.
#include "conformance/postgres/roles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

constexpr const char* no_right = "42501";

class PostgresRoles : public testing::Test {
protected:
    std::string url(const std::string& role) const { return url_as(database.url(), role); }

    // The SQLSTATE that `statement` of `role` ends with; "" when it is executed.
    std::string refusal(const std::string& role, const std::string& statement) const {
        try {
            psql(url(role), statement);
            return "";
        } catch (const SqlError& error) {
            return error.sqlstate();
        }
    }

    const PostgresDatabase database{PostgresServer(), granted_database(PostgresServer(), {})};
};

TEST_F(PostgresRoles, OBX_104_OBX_105_AWriterEnqueuesByInsertAndByFunction) {
    const std::string writer = url("postroom_writer");
    psql(writer, "INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', 'a')");
    psql(writer,
         "INSERT INTO infra.outbox_live (topic, payload, headers, priority, due_time) "
         "VALUES ('t', 'b', '{\"h\":\"1\"}', 1, now())");
    psql(writer, "SELECT infra.outbox_enqueue('t', 'c'::bytea)");
    psql(writer, "SELECT infra.outbox_enqueue('t', 'd'::text, ordering_key => 'k')");
    psql(writer, "SELECT infra.outbox_enqueue('t', '1'::jsonb, idempotency_key => 'i')");
    psql(writer, "SELECT infra.outbox_enqueue('t', '1'::jsonb, idempotency_key => 'i')");
    const auto store = postgres::open_store(url("postroom_worker"));
    EXPECT_THAT(Outbox(*store).claim_due(10), SizeIs(5));
}

TEST_F(PostgresRoles, AHoldBindsAWorkerWhoMayOnlyReadIt) {
    psql(url("postroom_migrator"),
         "REVOKE INSERT, UPDATE, DELETE ON infra.outbox_home FROM postroom_worker");
    psql(url("postroom_writer"), "SELECT infra.outbox_enqueue('t', 'a'::text)");
    const auto store =
        postgres::open_store(url("postroom_worker"), {.restore_guard = {.on = true}});
    EXPECT_THAT(Outbox(*store).claim_due(10), SizeIs(1));
    psql(url("postroom_migrator"),
         "UPDATE infra.outbox_home SET held_since = now(), held_why = 'by hand'");
    const auto another =
        postgres::open_store(url("postroom_worker"), {.restore_guard = {.on = true}});
    EXPECT_THROW(Outbox(*another).claim_due(10), Error);
}

TEST_F(PostgresRoles, AWriterIsHeldToTheKeyOfAPlainInsert) {
    const std::string insert =
        "INSERT INTO infra.outbox_live (topic, payload, idempotency_key) VALUES ('t', 'a', 'key')";
    EXPECT_EQ(refusal("postroom_writer", insert), "");
    EXPECT_EQ(refusal("postroom_writer", insert), "23505");
    EXPECT_EQ(refusal("postroom_writer", "SELECT idempotency_key FROM infra.outbox_key"), no_right);
    psql(url("postroom_writer"), "SELECT infra.outbox_enqueue('t', 'b', idempotency_key => 'key')");
    const auto store = postgres::open_store(url("postroom_worker"));
    EXPECT_THAT(Outbox(*store).claim_due(10), SizeIs(1));
}

TEST_F(PostgresRoles, AWriterMayDoNothingElse) {
    psql(url("postroom_writer"),
         "INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', 'a')");
    for (const std::string statement :
         {"INSERT INTO infra.outbox_live (seq, topic, payload) VALUES (7, 't', '')",
          "INSERT INTO infra.outbox_live (nonce, topic, payload) VALUES (7, 't', '')",
          "INSERT INTO infra.outbox_live (lease_id, topic, payload) VALUES (7, 't', '')",
          "INSERT INTO infra.outbox_live (born_until, topic, payload) VALUES (now(), 't', '')",
          "INSERT INTO infra.outbox_live (owner, topic, payload) VALUES (gen_random_uuid(), 't', "
          "'')",
          "INSERT INTO infra.outbox_waiting (topic, payload) VALUES ('t', '')",
          "INSERT INTO infra.outbox_lease VALUES (1, 1, now(), gen_random_uuid())",
          "INSERT INTO infra.inbox_live (topic, payload, source) VALUES ('t', '', 's')",
          "SELECT payload FROM infra.outbox_live",
          "SELECT payload FROM infra.outbox",
          "SELECT topic FROM infra.outbox_status",
          "UPDATE infra.outbox_live SET payload = ''",
          "DELETE FROM infra.outbox_live",
          "TRUNCATE infra.outbox_live",
          "SELECT setval('infra.outbox_number', 1)",
          "SELECT setval('infra.outbox_mark', 1)",
          "BEGIN; LOCK TABLE infra.outbox_claim_gate IN SHARE UPDATE EXCLUSIVE MODE",
          "BEGIN; LOCK TABLE infra.outbox_live IN SHARE MODE",
          "SELECT * FROM infra.outbox_claim('00000000-0000-4000-8000-00000000000a', 30, 10)",
          "SELECT infra.outbox_reap()",
          "DROP TABLE infra.outbox_live"})
        EXPECT_EQ(refusal("postroom_writer", statement), no_right) << statement;
}

TEST_F(PostgresRoles, OBX_095_OBX_104_OBX_105_IBX_126_AWorkerDoesItsWorkByFunctionsAlone) {
    Session worker(url("postroom_worker"));
    for (const std::string id : {"a", "b", "c"}) {
        worker.run("SELECT infra.outbox_enqueue('t', 'p'::text)");
        worker.run("SELECT infra.inbox_enqueue('t', 's', '" + id + "', 'p'::text)");
    }
    for (const std::string queue : {"infra.outbox", "infra.inbox"}) {
        const SqlRows claimed =
            worker.run("SELECT lease_id, id FROM " + queue +
                       "_claim('00000000-0000-4000-8000-00000000000a', 30, 10)");
        ASSERT_THAT(claimed, SizeIs(3)) << queue;
        const auto held = [&](std::size_t i) {
            return "(" + claimed[i][0].value() + "::bigint, ARRAY['" + claimed[i][1].value() +
                   "']::uuid[]";
        };
        const std::string call = "SELECT " + queue;
        EXPECT_EQ(worker.value(call + "_ack" + held(0) + ")"), "1");
        EXPECT_EQ(worker.value(call + "_abandon" + held(1) + ", 'no')"), "1");
        EXPECT_EQ(worker.value(call + "_fail" + held(2) + ", 'no')"), "1");
        EXPECT_EQ(worker.value(call + "_reap()"), "0");
    }
}

TEST_F(PostgresRoles, AWorkerMayNotChangeTheSchema) {
    for (const std::string statement :
         {"DROP TABLE infra.outbox_live", "ALTER TABLE infra.outbox_live DROP COLUMN nonce",
          "CREATE TABLE infra.mine ()", "DROP FUNCTION infra.outbox_reap()"})
        EXPECT_EQ(refusal("postroom_worker", statement), no_right) << statement;
}

TEST_F(PostgresRoles, AViewerSeesFiguresAndLabelsAndNoPayload) {
    psql(url("postroom_writer"),
         "INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', 'a')");
    const auto store = postgres::open_store(url("postroom_viewer"));
    EXPECT_EQ(store->counts(Queue::outbox).ready, 1U);
    EXPECT_EQ(store->counts(Queue::inbox).ready, 0U);
    EXPECT_EQ(psql(url("postroom_viewer"), "SELECT topic, state FROM infra.outbox_status"),
              (SqlRows{{"t", "0"}}));
    for (const std::string statement :
         {"SELECT payload FROM infra.outbox_status", "SELECT headers FROM infra.outbox_status",
          "SELECT payload FROM infra.outbox_live", "SELECT payload FROM infra.outbox",
          "INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', '')",
          "SELECT infra.outbox_enqueue('t', ''::bytea)", "DELETE FROM infra.outbox_live",
          "BEGIN; LOCK TABLE infra.outbox_claim_gate IN SHARE UPDATE EXCLUSIVE MODE"})
        EXPECT_EQ(refusal("postroom_viewer", statement), no_right) << statement;
}

// Goal: somebody without any right on the schema cannot keep others from working.
// Method: a stranger holds every advisory lock that ever played a part.
TEST_F(PostgresRoles, AStrangerCannotKeepClaimsWaiting) {
    psql(url("postroom_writer"),
         "INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', 'a')");
    EXPECT_EQ(refusal("postroom_stranger",
                      "BEGIN; LOCK TABLE infra.outbox_claim_gate IN SHARE UPDATE EXCLUSIVE MODE"),
              no_right);
    Session stranger(url("postroom_stranger"));
    for (const std::string what : {"claim", "look", "purge"})
        for (const std::string queue : {"outbox", "inbox"})
            stranger.run("SELECT pg_advisory_lock(hashtextextended('postroom " + what + " infra." +
                         queue + "', 0))");
    const auto store = postgres::open_store(url("postroom_worker"), {.statement_timeout = 10s});
    const Outbox outbox(*store, {.queue = {.lease = 50ms}});
    EXPECT_THAT(outbox.claim_due(10), SizeIs(1));
    std::this_thread::sleep_for(90ms);
    const std::vector<Message> again = outbox.claim_due(10);
    ASSERT_THAT(again, SizeIs(1)) << "the round that takes back expired leases did not run";
    EXPECT_FALSE(store->purge(Queue::outbox, {}).busy);
}

TEST_F(PostgresRoles, ADeploymentLeavesTheGrantsAsTheyAre) {
    OpenOptions other;
    other.limits.max_payload_bytes = 2048;
    postgres::open_schema(url("postroom_migrator"), other)->deploy();
    psql(url("postroom_writer"), "SELECT infra.outbox_enqueue('t', 'c'::bytea)");
    EXPECT_EQ(refusal("postroom_viewer", "SELECT infra.outbox_enqueue('t', ''::bytea)"), no_right);
    EXPECT_EQ(refusal("postroom_writer",
                      "INSERT INTO infra.outbox_live (topic, payload) VALUES ('t', "
                      "convert_to(repeat('x', 2049), 'UTF8'))"),
              "23514");
}

}  // namespace
}  // namespace postroom::test
