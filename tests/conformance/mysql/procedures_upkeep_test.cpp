// The procedures for any language, continued: settling by message id and by owner, prolonging,
// giving back, redriving, purging.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/store.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* upkeep_owner = "'6f1c7a52-8a3e-4b7c-9d55-000000000001'";

class MariadbUpkeepProcedures : public testing::Test {
protected:
    MariadbUpkeepProcedures() : store(mysql::open_store(database.url(), {.deploy_schema = true})) {}

    std::string refusal(const std::string& sql) {
        try {
            session.run(sql);
            return "accepted";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }
    std::string receive(const std::string& message_id, const std::string& source = "s",
                        const std::string& hash = "NULL", const std::string& options = "{}") {
        return session.value("CALL inbox_enqueue_with('t', '" + source + "', '" + message_id +
                             "', 'p', " + hash + ", '" + options + "')");
    }
    SqlRows claim(const std::string& queue = "inbox") {
        return session.run("CALL " + queue + "_claim(" + upkeep_owner + ", 30, 10)");
    }
    std::string by(const std::string& verb, const std::string& more) {
        return session.value("CALL inbox_" + verb + "_messages(" + upkeep_owner + ", " + more +
                             ")");
    }
    Message get(const std::string& id) {
        return store->find(Queue::inbox, {.ids = {WorkItemId::parse(id).value()}}).at(0);
    }
    static std::string held(const std::vector<std::optional<std::string>>& row) {
        return row.at(1).value() + ", '[\"" + row.at(0).value() + "\"]'";
    }

    MariadbDatabase database;
    NativeSession session{database.url()};
    std::unique_ptr<Store> store;
};

TEST_F(MariadbUpkeepProcedures, IBX_036_IBX_044_AClaimTellsMessageIdsAndSettlingTakesThem) {
    receive("a");
    receive("b");
    receive("c");
    const SqlRows claimed = claim();
    ASSERT_THAT(claimed, SizeIs(3));
    EXPECT_EQ(claimed[0][2], "a");
    EXPECT_EQ(by("ack", "'[\"a\", \"nobody\"]'"), "1");
    EXPECT_EQ(by("abandon", "'[\"b\"]', 'refused', 3600"), "1");
    EXPECT_EQ(by("fail", "'[\"c\"]', 'no such customer'"), "1");
    EXPECT_EQ(by("ack", "'[\"a\", \"b\", \"c\"]'"), "0");
    EXPECT_EQ(session.value("CALL inbox_already_processed('a', 's', NULL)"), "1");
    EXPECT_EQ(get(claimed[1][0].value()).retry_count, 1U);
    EXPECT_EQ(get(claimed[2][0].value()).state, State::dead);
}

TEST_F(MariadbUpkeepProcedures, AnIdThatIsLeasedFromTwoSourcesIsRefused) {
    receive("a", "s1");
    receive("a", "s2");
    claim();
    EXPECT_THAT(refusal(std::string("CALL inbox_ack_messages(") + upkeep_owner + ", '[\"a\"]')"),
                HasSubstr("several sources"));
}

TEST_F(MariadbUpkeepProcedures, OBX_033_OBX_040_OBX_046_EveryVerbSettlesByOwner) {
    for (int i = 0; i < 3; ++i)
        session.run("CALL outbox_enqueue('t', 'p', NULL, NULL, NULL, NULL, NULL, NULL)");
    const SqlRows claimed = claim("outbox");
    ASSERT_THAT(claimed, SizeIs(3));
    const auto owned = [&](std::size_t i) {
        return std::string(upkeep_owner) + ", '[\"" + claimed[i][0].value() + "\"]'";
    };
    EXPECT_EQ(session.value("CALL outbox_ack_by_owner(" + owned(0) + ")"), "1");
    EXPECT_EQ(session.value("CALL outbox_abandon_by_owner(" + owned(1) + ", 'refused', NULL, 0)"),
              "1");
    EXPECT_EQ(session.value("CALL outbox_fail_by_owner(" + owned(2) + ", 'for good', 0)"), "1");
    const Counts counts = store->counts(Queue::outbox);
    EXPECT_EQ(counts.ready, 1U);
    EXPECT_EQ(counts.dead, 1U);
}

TEST_F(MariadbUpkeepProcedures,
       OBX_039_OBX_062_IBX_052_IBX_081_TheDefaultBackOffIsTwoToTheNumberOfFailures) {
    const std::string id = receive("a", "s", "NULL", "{\"max_attempts\": 100}");
    for (const int seconds : {2, 4, 8, 16, 32, 60, 60}) {
        session.run("UPDATE inbox_waiting SET available_at = UTC_TIMESTAMP(6)");
        const SqlRows claimed = claim();
        ASSERT_THAT(claimed, SizeIs(1));
        const Instant before = store->now();
        EXPECT_EQ(session.value("CALL inbox_abandon(" + held(claimed[0]) + ", 'no', NULL, 0)"),
                  "1");
        const Duration waits = get(id).available_at - before;
        EXPECT_GE(waits, std::chrono::seconds{seconds});
        EXPECT_LE(waits, std::chrono::seconds{seconds} + (store->now() - before));
    }
}

TEST_F(MariadbUpkeepProcedures, S000_8_6_AnExpiredMessageIsDeadAndNeverHandedOut) {
    const std::string id = receive("a", "s", "NULL", "{\"expires_at\": \"2001-01-01 00:00:00\"}");
    receive("b");
    const SqlRows claimed =
        session.run(std::string("CALL inbox_claim(") + upkeep_owner + ", 30, 1)");
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0][2], "b");
    EXPECT_EQ(get(id).state, State::dead);
    EXPECT_EQ(get(id).dead_reason, DeadReason::expired);
}

TEST_F(MariadbUpkeepProcedures, IBX_067_AnInboxMessageDoesNotFailWithoutAnError) {
    receive("a");
    const SqlRows claimed = claim();
    EXPECT_THAT(refusal("CALL inbox_fail(" + held(claimed[0]) + ", NULL, 0)"),
                HasSubstr("error: must not be NULL"));
    EXPECT_EQ(session.value("CALL inbox_fail(" + held(claimed[0]) + ", '', 0)"), "1");
}

TEST_F(MariadbUpkeepProcedures, IBX_008_AnotherHashIsAWarning) {
    const auto warned = [&] {
        for (const auto& row : session.run("SHOW WARNINGS"))
            if (row.at(2).value().find("another hash") != std::string::npos) return true;
        return false;
    };
    receive("a", "s", "X'01'");
    EXPECT_FALSE(warned());
    receive("a", "s", "X'02'");
    EXPECT_TRUE(warned());
    EXPECT_EQ(session.value("CALL inbox_already_processed('a', 's', X'03')"), "0");
    EXPECT_TRUE(warned());
}

TEST_F(MariadbUpkeepProcedures, IBX_084_S003_8_3_ReceivedMessagesHavePriorityAttemptsAndAnEnd) {
    const std::string id =
        receive("a", "s", "NULL",
                "{\"priority\": 5, \"max_attempts\": 2, \"expires_at\": \"2099-01-01 00:00:00\"}");
    const Message stored = get(id);
    EXPECT_EQ(stored.priority, 5);
    EXPECT_EQ(stored.max_attempts, 2U);
    EXPECT_TRUE(stored.expires_at.has_value());
}

TEST_F(MariadbUpkeepProcedures, ADeadMessageIsRevivedByAnArrivalOrRedriven) {
    const std::string id = receive("a");
    session.run("CALL inbox_fail(" + held(claim().at(0)) + ", 'no', 0)");
    receive("a");
    EXPECT_EQ(get(id).state, State::dead);
    receive("a", "s", "NULL", "{\"revive\": true}");
    EXPECT_EQ(get(id).state, State::ready);
    session.run("CALL inbox_fail(" + held(claim().at(0)) + ", 'no', 0)");
    EXPECT_EQ(session.value("CALL inbox_redrive('[\"" + id + "\", \"no id\"]')"), "1");
    EXPECT_EQ(get(id).state, State::ready);
    EXPECT_EQ(session.value("CALL inbox_redrive('[]')"), "0");
}

TEST_F(MariadbUpkeepProcedures, LeasesAreProlongedAndGivenBack) {
    const std::string id = receive("a");
    const SqlRows claimed = claim();
    const Instant before = get(id).lease->locked_until;
    EXPECT_THAT(session.run("CALL inbox_extend(" + held(claimed[0]) + ", 3600)"), SizeIs(1));
    EXPECT_GT(get(id).lease->locked_until, before + 50min);
    EXPECT_EQ(session.value("CALL inbox_hand_back(" + held(claimed[0]) + ", NULL)"), "1");
    EXPECT_EQ(session.value("CALL inbox_hand_back(" + held(claimed[0]) + ", NULL)"), "0");
    EXPECT_EQ(get(id).retry_count, 0U);
    EXPECT_THAT(claim(), SizeIs(1));
}

TEST_F(MariadbUpkeepProcedures, IBX_098_DoneMessagesArePurged) {
    receive("a");
    claim();
    by("ack", "'[\"a\"]'");
    EXPECT_EQ(session.value("CALL inbox_purge(3600, 100)"), "0");
    EXPECT_EQ(session.value("CALL inbox_purge(0, 100)"), "1");
    EXPECT_EQ(session.value("CALL inbox_already_processed('a', 's', NULL)"), "0");
}

}  // namespace
}  // namespace postroom::test
