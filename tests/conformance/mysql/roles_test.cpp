// The roles of docs/guides/roles-and-grants.md: what each may do, and what not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/outbox.hpp"
#include "support/guide.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class MysqlRoles : public testing::Test {
protected:
    MysqlRoles() {
        mysql::open_schema(database.url())->deploy();
        std::string grants = sql_blocks("guides/roles-and-grants.md", "MariaDB and MySQL").at(0);
        grants = std::regex_replace(grants, std::regex("shop\\."), database.name() + ".");
        for (const std::string role : roles) {
            as_root("CREATE USER '" + user(role) + "'@'%' IDENTIFIED BY 'secret'");
            grants = std::regex_replace(grants, std::regex("postroom_" + role),
                                        "'" + user(role) + "'@'%'");
        }
        as_root(grants);
    }
    ~MysqlRoles() override {
        for (const std::string role : roles) as_root("DROP USER '" + user(role) + "'@'%'");
    }

    void as_root(const std::string& sql) const { mariadb_sql(database.server().root_url(), sql); }
    // Accounts belong to the server.
    std::string user(const std::string& role) const { return role + "_" + database.name(); }
    std::string url(const std::string& role) const {
        const std::string& url = database.url();
        return "mysql://" + user(role) + ":secret" + url.substr(url.rfind('@'));
    }
    // What `statement` of `role` is refused with; "" when it is executed.
    std::string refusal(const std::string& role, const std::string& statement) const {
        try {
            NativeSession(url(role)).run(statement);
            return "";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }

    static constexpr std::array roles{"writer", "worker", "viewer"};
    const MariadbDatabase database;
};

TEST_F(MysqlRoles, AWriterEnqueuesByInsertAndByProcedure) {
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
