// The roles of docs/guides/roles-and-grants.md: what each may do, and what not.
#include "conformance/mysql/roles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/operator.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const MariadbDatabase& deployed(const MariadbDatabase& database) {
    mysql::open_schema(database.url())->deploy();
    return database;
}

class MysqlRoles : public testing::Test {
protected:
    std::string url(const std::string& role) const { return accounts.url(role); }
    // What `statement` of `role` is refused with; "" when it is executed.
    std::string refusal(const std::string& role, const std::string& statement) const {
        try {
            NativeSession(url(role)).run(statement);
            return "";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }

    const MariadbDatabase database;
    const GrantedAccounts accounts{deployed(database)};
};

TEST_F(MysqlRoles, OBX_104_OBX_105_AWriterEnqueuesByInsertAndByProcedure) {
    NativeSession writer(url("writer"));
    writer.run("INSERT INTO outbox_live (topic, payload) VALUES ('t', 'a')");
    writer.run("CALL outbox_enqueue('t', 'b', NULL, NULL, NULL, NULL, NULL, NULL)");
    writer.run("CALL outbox_enqueue_with('t', 'c', '{\"ordering_key\": \"k\"}')");
    writer.run("CALL outbox_enqueue_with('t', 'd', '{\"idempotency_key\": \"i\"}')");
    const auto store = mysql::open_store(url("worker"));
    const std::vector<Message> claimed = Outbox(*store).claim_due(10);
    EXPECT_THAT(claimed, SizeIs(4));
    for (const Settled settled : Outbox(*store).ack(claimed)) EXPECT_EQ(settled, Settled::done);
}

TEST_F(MysqlRoles, OBX_095_OBX_104_OBX_105_IBX_126_AWorkerDoesItsWorkByProceduresAlone) {
    NativeSession worker(url("worker"));
    const std::string rest = "NULL, NULL, NULL, NULL, NULL";
    for (const std::string id : {"a", "b", "c"}) {
        worker.run("CALL outbox_enqueue('t', 'p', NULL, " + rest + ")");
        worker.run("CALL inbox_enqueue('t', 's', '" + id + "', 'p', " + rest + ")");
    }
    for (const std::string queue : {"outbox", "inbox"}) {
        const std::string call = "CALL " + queue;
        const SqlRows claimed =
            worker.run(call + "_claim('00000000-0000-4000-8000-00000000000a', 30, 10)");
        ASSERT_THAT(claimed, SizeIs(3)) << queue;
        const auto held = [&](std::size_t i) {
            return "(" + claimed[i][1].value() + ", '[\"" + claimed[i][0].value() + "\"]'";
        };
        EXPECT_EQ(worker.value(call + "_ack" + held(0) + ")"), "1") << queue;
        EXPECT_EQ(worker.value(call + "_abandon" + held(1) + ", 'no', 60, 0)"), "1") << queue;
        EXPECT_EQ(worker.value(call + "_fail" + held(2) + ", 'no', 0)"), "1") << queue;
        EXPECT_EQ(worker.value(call + "_reap()"), "0") << queue;
    }
}

TEST_F(MysqlRoles, AWriterMayDoNothingElse) {
    NativeSession(url("writer")).run("INSERT INTO outbox_live (topic, payload) VALUES ('t', 'a')");
    for (const std::string statement :
         {"INSERT INTO outbox_live (seq, topic, payload) VALUES (7, 't', '')",
          "INSERT INTO outbox_live (nonce, topic, payload) VALUES (7, 't', '')",
          "INSERT INTO outbox_live (lease_id, topic, payload) VALUES (7, 't', '')",
          "INSERT INTO outbox_live (born_until, topic, payload) VALUES (NOW(), 't', '')",
          "INSERT INTO outbox_waiting (seq, topic, payload) VALUES (7, 't', '')",
          "SELECT payload FROM outbox_live", "SELECT * FROM outbox_status",
          "UPDATE outbox_live SET payload = ''", "DELETE FROM outbox_live",
          "SELECT * FROM outbox_gate FOR UPDATE", "CALL outbox_reap()", "DROP TABLE outbox_live"})
        EXPECT_THAT(refusal("writer", statement), HasSubstr("denied")) << statement;
}

TEST_F(MysqlRoles, AWorkerMayNotChangeTheSchema) {
    for (const std::string statement :
         {"DROP TABLE outbox_live", "ALTER TABLE outbox_live DROP COLUMN nonce",
          "CREATE TABLE mine (id INT)", "DROP PROCEDURE outbox_reap"})
        EXPECT_THAT(refusal("worker", statement), HasSubstr("denied")) << statement;
}

TEST_F(MysqlRoles, AWorkerOnlyAddsToTheAuditLog) {
    const auto store = mysql::open_store(url("worker"));
    controls_of(*store)->record_audit(
        {.who = "ann", .what = "discard", .target = "t", .count = 3, .outcome = "done"});
    for (const std::string statement : {"UPDATE outbox_audit SET who = 'bob'",
                                        "DELETE FROM outbox_audit", "TRUNCATE outbox_audit"})
        EXPECT_THAT(refusal("worker", statement), HasSubstr("denied")) << statement;
    EXPECT_THAT(controls_of(*store)->audit_log(0, 10), SizeIs(1));
}

// The guide names them one by one.
TEST_F(MysqlRoles, AWorkerMayChangeAllOtherTables) {
    const SqlRows tables = database.sql(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND "
        "TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME NOT IN ('outbox_audit', 'postroom_migration', "
        "'postroom_object')");
    EXPECT_THAT(tables, testing::Not(testing::IsEmpty()));
    for (const auto& row : tables) {
        const std::string& name = row.at(0).value();
        const std::string column = NativeSession(database.url())
                                       .value(
                                           "SELECT COLUMN_NAME FROM information_schema.COLUMNS "
                                           "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" +
                                           name + "' LIMIT 1");
        EXPECT_EQ(refusal("worker", "DELETE FROM " + name + " WHERE 1 = 0"), "");
        EXPECT_EQ(refusal("worker",
                          "UPDATE " + name + " SET " + column + " = " + column + " WHERE 1 = 0"),
                  "");
    }
}

TEST_F(MysqlRoles, AViewerSeesLabelsAndNoPayload) {
    NativeSession(url("writer")).run("INSERT INTO outbox_live (topic, payload) VALUES ('t', 'a')");
    NativeSession viewer(url("viewer"));
    EXPECT_EQ(viewer.value("SELECT topic FROM outbox_status WHERE state = 0"), "t");
    for (const std::string statement :
         {"SELECT payload FROM outbox_status", "SELECT payload FROM outbox_live",
          "INSERT INTO outbox_live (topic, payload) VALUES ('t', '')",
          "CALL outbox_enqueue('t', 'b', NULL, NULL, NULL, NULL, NULL, NULL)",
          "DELETE FROM outbox_live"})
        EXPECT_THAT(refusal("viewer", statement), HasSubstr("denied")) << statement;
}

}  // namespace
}  // namespace postroom::test
