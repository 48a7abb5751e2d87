// Plans: every statement inside the functions reaches its tables by index, whatever lies in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"

namespace postroom::test {
namespace {

// The plan nodes of all statements that ran in the session, those inside functions included.
std::vector<std::string> plan_nodes(const std::string& notices) {
    std::vector<std::string> nodes;
    std::istringstream lines(notices);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("(cost=") != std::string::npos) nodes.push_back(line);
    }
    return nodes;
}

class Plans : public testing::Test {
protected:
    Plans() { postgres::open_store(database.url(), {.deploy_schema = true}); }
    void park(int count) {
        for (const std::string queue : {"outbox", "inbox"}) {
            database.psql(
                "INSERT INTO infra." + queue +
                "_waiting (topic, payload, source, state, available_at) SELECT 'parked', '', 's', "
                "(g % 2) * 3, now() + interval '1 day' FROM generate_series(1, " +
                std::to_string(count) + ") g");
            // A dead message, and as many behind it whose time has come.
            database.psql("INSERT INTO infra." + queue +
                          "_waiting (topic, payload, source, ordering_key, state, behind) SELECT "
                          "'line', '', 's', 'blocked', CASE WHEN g = 0 THEN 3 ELSE 0 END, g > 0 "
                          "FROM generate_series(0, " +
                          std::to_string(count) + ") g");
        }
    }
    // Runs a whole life of messages and returns what was planned for it.
    std::vector<std::string> nodes_of(const std::string& queue) {
        Session session(database.url());
        session.run("LOAD 'auto_explain'");
        session.run(
            "SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; "
            "SET auto_explain.log_level = 'notice'");
        const std::string f = "infra." + queue + "_do_";
        const std::string put =
            queue == "outbox"
                ? "SELECT infra.outbox_enqueue('t', 'x'::text, ordering_key => k) FROM "
                : "SELECT infra.inbox_enqueue('t', 's', 'm' || g, 'x'::text, ordering_key => k) "
                  "FROM ";
        // One in two has an ordering key, and one in two of those stands behind another.
        session.run(put +
                    "(SELECT g, CASE WHEN g % 2 = 0 THEN 'k' || g % 5 END AS k FROM "
                    "generate_series(1, 20) g) m");
        session.run("INSERT INTO infra." + queue +
                    "_turn (ordering_key) VALUES ('k0'), ('blocked')");
        session.run("SELECT " + f +
                    "claim('00000000-0000-4000-8000-00000000000a', 5, 60000000, 20, 20, 5, 10, 0, "
                    "0, true)");
        session.run("SELECT seq FROM " + f + "read(5)");
        const std::string arrays = "(SELECT array_agg(seq) FROM " + f +
                                   "read(5)), (SELECT array_agg(nonce) FROM " + f +
                                   "read(5)), 5, '00000000-0000-4000-8000-00000000000a'";
        session.run("SELECT " + f + "extend(" + arrays + ", 60000000)");
        session.run("SELECT * FROM (SELECT seq, nonce FROM " + f + "read(5) LIMIT 1) m, LATERAL " +
                    f + "retry(m.seq, m.nonce, 5, 'e', 0, 1, 10, false)");
        session.run("SELECT " + f + "ack(" + arrays + ", true)");
        session.run("SELECT " + f + "reap(10)");
        return plan_nodes(session.notices());
    }
    // A sequence has one row and no index.
    std::set<std::string> sequences() const {
        std::set<std::string> names;
        for (const auto& row : database.psql("SELECT relname FROM pg_class WHERE relkind = 'S'"))
            names.insert(row.at(0).value());
        return names;
    }
    static std::string relation_of(const std::string& node) {
        const std::size_t on = node.find(" on ");
        return on == std::string::npos ? "" : node.substr(on + 4, node.find(' ', on + 4) - on - 4);
    }
    void expect_index_plans(const std::string& queue) {
        const std::vector<std::string> nodes = nodes_of(queue);
        const std::set<std::string> without_index = sequences();
        ASSERT_GT(nodes.size(), 30U);
        int on_tables = 0;
        for (const std::string& node : nodes) {
            const bool table = node.find(" on " + queue + "_") != std::string::npos &&
                               !without_index.contains(relation_of(node));
            on_tables += table ? 1 : 0;
            EXPECT_EQ(table && node.find("Seq Scan") != std::string::npos, false) << node;
            EXPECT_EQ(node.find("Hash Join"), std::string::npos) << node;
            EXPECT_EQ(node.find("Hash Anti"), std::string::npos) << node;
            EXPECT_EQ(node.find("Merge Join"), std::string::npos) << node;
            EXPECT_EQ(node.find("Bitmap"), std::string::npos) << node;
        }
        EXPECT_GT(on_tables, 20);
    }

    PostgresDatabase database;
};

TEST_F(Plans, AreByIndexInAnEmptyOutbox) { expect_index_plans("outbox"); }
TEST_F(Plans, AreByIndexInAnEmptyInbox) { expect_index_plans("inbox"); }

TEST_F(Plans, AreByIndexWithParkedMessagesAndNoStatistics) {
    park(100'000);
    expect_index_plans("outbox");
    expect_index_plans("inbox");
}

TEST_F(Plans, AreByIndexWithParkedMessagesAndStatistics) {
    park(100'000);
    database.psql("ANALYZE");
    expect_index_plans("outbox");
    expect_index_plans("inbox");
}

// From now on the session notes the plan of each statement, also of those inside functions. There
// are messages of ten ordering keys to claim.
void explain_claims_of_keyed_messages(Session& session) {
    session.run(
        "SELECT infra.outbox_enqueue('t', 'x'::text, ordering_key => 'k' || g % 10) FROM "
        "generate_series(1, 20) g");
    session.run("LOAD 'auto_explain'");
    session.run(
        "SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; "
        "SET auto_explain.log_level = 'notice'");
}

TEST_F(Plans, AClaimSortsNothing) {
    park(100'000);
    Session session(database.url());
    session.run("SELECT infra.outbox_enqueue('t', 'x'::text) FROM generate_series(1, 20)");
    explain_claims_of_keyed_messages(session);
    // The ceilings of claims 0 to 3.
    const std::array<std::string, 4> ceilings{"5, 1, 2, 0, 0", "5, 1, 3, 0, 5", "5, 1, 2, 0, 0",
                                              "0, 1, 1, 2, 0"};
    for (std::size_t i = 0; i < ceilings.size(); ++i) {
        const std::string lease = "5" + std::to_string(i);
        session.run("SELECT infra.outbox_do_claim('00000000-0000-4000-8000-00000000000a', " +
                    lease + ", 60000000, 5, " + ceilings[i] + ", true)");
        session.run("SELECT * FROM infra.outbox_do_read(" + lease + ")");
    }
    const std::vector<std::string> nodes = plan_nodes(session.notices());
    ASSERT_GT(nodes.size(), 30U);
    for (const std::string& node : nodes) EXPECT_EQ(node.find("Sort"), std::string::npos) << node;
}

// What stands behind another is in no index that a claim walks, and heads are found by one probe.
// With statistics that say nothing but the one long line, since that is when the planner is misled.
TEST_F(Plans, AClaimWalksNoLine) {
    park(100'000);
    Session session(database.url());
    session.run("ANALYZE infra.outbox_waiting");
    explain_claims_of_keyed_messages(session);
    session.run("SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off");
    EXPECT_EQ(session.value("SELECT infra.outbox_do_claim('00000000-0000-4000-8000-00000000000a', "
                            "5, 60000000, 50, 50, 12, 25, 0, 0, true)"),
              "10");
    int on_waiting = 0;
    std::istringstream lines(session.notices());
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" on outbox_waiting") != std::string::npos) ++on_waiting;
        const std::string removed = "Rows Removed by Filter: ";
        const std::size_t at = line.find(removed);
        if (at != std::string::npos) {
            EXPECT_LT(std::stol(line.substr(at + removed.size())), 100) << session.notices();
        }
    }
    EXPECT_GT(on_waiting, 5);
}

}  // namespace
}  // namespace postroom::test
