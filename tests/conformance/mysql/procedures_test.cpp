// The procedures for any language, called as another language would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/ulid.hpp"
#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* owner = "'6f1c7a52-8a3e-4b7c-9d55-000000000001'";

class MariadbProcedures : public testing::Test {
protected:
    MariadbProcedures() : store(mysql::open_store(database.url(), {.deploy_schema = true})) {}

    // What a statement is refused with; empty when it is not.
    std::string refusal(const std::string& sql) {
        try {
            session.run(sql);
            return {};
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }
    std::string enqueue(const std::string& more = "NULL, NULL, NULL, NULL, NULL, NULL") {
        return session.value("CALL outbox_enqueue('t', 'p', " + more + ")");
    }
    // The rows of a claim of up to ten: id, lease id.
    SqlRows claim(const std::string& queue = "outbox") {
        return session.run("CALL " + queue + "_claim(" + owner + ", 30, 10)");
    }
    std::string count(const std::string& table) {
        return session.value("SELECT COUNT(*) FROM " + table);
    }
    static std::string ids(const std::string& id) { return "'[\"" + id + "\"]'"; }

    MariadbDatabase database;
    NativeSession session{database.url()};
    std::unique_ptr<Store> store;
};

// Drivers choose the collation of their sessions: mysql2 for Node takes utf8mb4_unicode_ci.
TEST_F(MariadbProcedures, TheViewsAreReadInTheCollationOfAnySession) {
    enqueue();
    ASSERT_THAT(claim(), SizeIs(1));
    enqueue();
    for (const char* const collation :
         {"utf8mb4_unicode_ci", "utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci"}) {
        SCOPED_TRACE(collation);
        const std::string charset(collation, std::string_view(collation).find('_'));
        session.run("SET NAMES " + charset + " COLLATE " + collation);
        const SqlRows rows = session.run(
            "SELECT status_name, owner_token FROM outbox WHERE topic = 't' ORDER BY seq");
        ASSERT_THAT(rows, SizeIs(2));
        EXPECT_EQ(rows[0][0], "InProgress");
        EXPECT_EQ("'" + rows[0][1].value() + "'", owner);
        EXPECT_EQ(rows[1][1], std::nullopt);
        EXPECT_EQ(count(std::string("outbox WHERE status_name = 'InProgress' AND owner_token = ") +
                        owner),
                  "1");
        EXPECT_EQ(count("outbox_status WHERE topic = 't'"), "2");
        EXPECT_EQ(count("inbox"), "0");
    }
}

// Goal: one form of message ids whoever makes them, so that a message is found by its time.
TEST_F(MariadbProcedures, AndPlainInsertsMakeMessageIdsAsTheLibraryDoes) {
    enqueue();
    for (int i = 0; i < 100; ++i)
        session.run("INSERT INTO outbox_live (topic, payload) VALUES ('t', 'x'), ('t', 'y')");
    std::set<std::string> ids;
    for (const Message& stored : store->find(Queue::outbox, {.limit = 1000})) {
        ids.insert(stored.message_id.str());
        const std::optional<Instant> made = base::ulid_time(stored.message_id.str());
        ASSERT_TRUE(made.has_value()) << stored.message_id.str();
        EXPECT_LE(std::chrono::abs(*made - stored.created_at), std::chrono::seconds{5});
    }
    EXPECT_EQ(ids.size(), 201U);
}

TEST_F(MariadbProcedures, SpeakOfTheSameIdsAsTheLibrary) {
    const std::string id = enqueue();
    const auto found = store->find(Queue::outbox, {});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].id.to_string(), id);
    const SqlRows claimed = claim();
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0][0], id);
    const SqlRows read = session.run("CALL outbox_read(" + claimed[0][1].value() + ")");
    ASSERT_THAT(read, SizeIs(1));
    EXPECT_EQ(read[0][0], id);
}

TEST_F(MariadbProcedures, SettleWhatTheirLeaseHolds) {
    const std::string id = enqueue();
    const std::string lease = claim().at(0).at(1).value();
    EXPECT_EQ(session.value("CALL outbox_ack(" + lease + " + 1, " + ids(id) + ")"), "0");
    EXPECT_EQ(session.value("CALL outbox_ack(" + lease + ", " + ids(id) + ")"), "1");
    EXPECT_EQ(session.value("CALL outbox_ack(" + lease + ", " + ids(id) + ")"), "0");
    EXPECT_EQ(count("outbox_done"), "1");

    const std::string second = enqueue();
    const std::string second_lease = claim().at(0).at(1).value();
    EXPECT_EQ(session.value("CALL outbox_abandon(" + second_lease + ", " + ids(second) +
                            ", 'refused', 3600, 0)"),
              "1");
    EXPECT_THAT(claim(), SizeIs(0));
    const auto waiting = store->find(Queue::outbox, {.state = State::ready});
    ASSERT_THAT(waiting, SizeIs(1));
    EXPECT_EQ(waiting[0].retry_count, 1U);
    EXPECT_EQ(waiting[0].last_error, "refused");

    const std::string third = enqueue();
    const std::string third_lease = claim().at(0).at(1).value();
    EXPECT_EQ(
        session.value("CALL outbox_fail(" + third_lease + ", " + ids(third) + ", 'no such', 0)"),
        "1");
    EXPECT_THAT(store->find(Queue::outbox, {.state = State::dead}), SizeIs(1));
}

TEST_F(MariadbProcedures, SettleByOwnerAcrossLeases) {
    const std::string first = enqueue();
    claim();
    const std::string second = enqueue();
    claim();
    const std::string both = "'[\"" + first + "\", \"" + second + "\", \"no id\"]'";
    EXPECT_EQ(
        session.value("CALL outbox_ack_by_owner('" + Uuid{{7}}.to_string() + "', " + both + ")"),
        "0");
    EXPECT_EQ(session.value(std::string("CALL outbox_ack_by_owner(") + owner + ", " + both + ")"),
              "2");
}

TEST_F(MariadbProcedures, AKeyThatIsTakenBringsTheFirstIdBack) {
    const std::string with_key = "NULL, NULL, NULL, 'k', NULL, NULL";
    const std::string id = enqueue(with_key);
    EXPECT_EQ(enqueue(with_key), id);
    EXPECT_EQ(count("outbox_live"), "1");
    EXPECT_TRUE(Outbox(*store)
                    .enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"})
                    .already_existed);
}

TEST_F(MariadbProcedures, EverythingElseGoesByName) {
    session.run(
        "CALL outbox_enqueue_with('t', 'p', '{\"priority\": 5, \"message_id\": \"m\", "
        "\"ordering_key\": \"o\", \"headers\": {\"a\": \"b\"}, \"max_attempts\": 3, "
        "\"content_type\": \"text/plain\", \"aggregate_id\": \"17\"}')");
    const auto found = store->find(Queue::outbox, {});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].priority, 5);
    EXPECT_EQ(found[0].message_id.str(), "m");
    EXPECT_EQ(found[0].ordering_key, "o");
    EXPECT_EQ(found[0].headers, (Headers{{"a", "b"}}));
    EXPECT_EQ(found[0].max_attempts, 3U);
    EXPECT_EQ(found[0].content_type, "text/plain");
    EXPECT_EQ(found[0].aggregate_id, "17");
}

TEST_F(MariadbProcedures, TakePartInTheCallersTransaction) {
    session.run("START TRANSACTION");
    enqueue();
    enqueue("NULL, NULL, NULL, 'k', NULL, NULL");
    session.run("ROLLBACK");
    EXPECT_EQ(count("outbox"), "0");
    EXPECT_EQ(count("outbox_key"), "0");
    session.run("SET autocommit = 0");
    enqueue();
    session.run("ROLLBACK");
    session.run("SET autocommit = 1");
    EXPECT_EQ(count("outbox"), "0");
}

// Goal: where no transaction is open, a call that fails leaves nothing behind.
TEST_F(MariadbProcedures, AreATransactionOfTheirOwnOtherwise) {
    session.run("DROP PROCEDURE outbox_draw");
    EXPECT_NE(refusal("CALL outbox_enqueue('t', 'p', NULL, NULL, NULL, 'k', 'o', NULL)"), "");
    EXPECT_EQ(count("outbox_key"), "0");
    EXPECT_EQ(session.value("SELECT @@in_transaction"), "0");
}

TEST_F(MariadbProcedures, AClaimInsideALongerTransactionIsRefusedAndSpoilsNothing) {
    session.run("START TRANSACTION");
    enqueue();
    EXPECT_NE(refusal(std::string("CALL outbox_claim(") + owner + ", 30, 10)"), "");
    session.run("COMMIT");
    EXPECT_THAT(claim(), SizeIs(1));
}

// Goal: the limit is that of whoever deployed last, above the usual one and below it.
TEST_F(MariadbProcedures, OBX_096_IBX_118_HoldPayloadsToTheLimitOfTheDeployment) {
    for (const std::size_t limit : {std::size_t{2} * 1024 * 1024, std::size_t{2048}}) {
        OpenOptions options;
        options.limits.max_payload_bytes = limit;
        mysql::open_schema(database.url(), options)->deploy();
        const auto text = [](std::size_t bytes) {
            return "REPEAT('x', " + std::to_string(bytes) + ")";
        };
        const auto expect_held = [&](const std::string& call, const std::string& more) {
            EXPECT_EQ(refusal(call + text(limit) + more), "");
            EXPECT_THAT(refusal(call + text(limit + 1) + more),
                        HasSubstr("payload: " + std::to_string(limit + 1) + " bytes, at most " +
                                  std::to_string(limit) + " allowed (max_payload_bytes)"));
        };
        expect_held("CALL outbox_enqueue('t', ", ", NULL, NULL, NULL, NULL, NULL, NULL)");
        expect_held("CALL inbox_enqueue('t', 's', 'm" + std::to_string(limit) + "', ",
                    ", NULL, NULL, NULL, NULL, NULL)");
    }
}

TEST_F(MariadbProcedures, RefuseWhatTheLibraryRefuses) {
    const std::string rest = ", NULL, NULL, NULL, NULL, NULL, NULL)";
    EXPECT_THAT(refusal("CALL outbox_enqueue('', 'p'" + rest),
                HasSubstr("topic: must not be empty"));
    EXPECT_THAT(refusal("CALL outbox_enqueue('" + std::string(256, 't') + "', 'p'" + rest),
                HasSubstr("topic: 256 characters, at most 255 allowed"));
    EXPECT_THAT(refusal("CALL outbox_enqueue('t', NULL" + rest), HasSubstr("payload: missing"));
    EXPECT_THAT(refusal("CALL outbox_enqueue('t', 'p', NULL, NULL, NULL, NULL, NULL, '[1]')"),
                HasSubstr("headers: must be a JSON object"));
    EXPECT_THAT(refusal("CALL outbox_claim('00000000-0000-0000-0000-000000000000', 30, 10)"),
                HasSubstr("owner_token"));
    EXPECT_THAT(refusal(std::string("CALL outbox_claim(") + owner + ", 0, 10)"),
                HasSubstr("lease: 0"));
    EXPECT_THAT(refusal(std::string("CALL outbox_claim(") + owner + ", 30, 0)"),
                HasSubstr("batch: 0"));
    EXPECT_THAT(refusal("CALL outbox_ack(1, NULL)"), HasSubstr("ids: must not be NULL"));
    EXPECT_THAT(refusal("CALL outbox_ack(NULL, '[]')"), HasSubstr("lease_id: must not be NULL"));
    EXPECT_THAT(refusal("CALL inbox_mark_processed('', 's')"),
                HasSubstr("message_id: must not be empty"));
    EXPECT_EQ(count("outbox"), "0");
}

TEST_F(MariadbProcedures, TheInboxReceivesOnce) {
    const std::string put =
        "CALL inbox_enqueue('t', 'Stripe', 'evt_1', 'p', NULL, NULL, NULL, NULL, NULL)";
    EXPECT_EQ(session.value("CALL inbox_already_processed('evt_1', 'Stripe', NULL)"), "0");
    const std::string id = session.value(put);
    EXPECT_EQ(session.value(put), id);
    const SqlRows claimed = claim("inbox");
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(session.value("CALL inbox_ack(" + claimed[0][1].value() + ", " + ids(id) + ")"), "1");
    EXPECT_EQ(session.value("CALL inbox_already_processed('evt_1', 'Stripe', NULL)"), "1");
    EXPECT_EQ(session.run(put).at(0).at(0), std::nullopt);
    EXPECT_EQ(session.value("CALL inbox_mark_dead('nobody', 'Stripe', 'e')"), "0");
    EXPECT_EQ(session.value("CALL inbox_already_processed('EVT_1', 'Stripe', NULL)"), "0");
    EXPECT_EQ(session.value("CALL inbox_mark_processed('EVT_1', 'Stripe')"), "1");
}

// Goal: what comes again replaces what nobody holds, whatever isolation level the session of
// another language has. By itself a server gives REPEATABLE READ.
TEST_F(MariadbProcedures, IBX_029_AnArrivalInAutocommitReplacesWhatNobodyHolds) {
    const auto put = [&](const std::string& payload) {
        return session.value("CALL inbox_enqueue('t', 's', 'm', '" + payload +
                             "', NULL, NULL, NULL, NULL, NULL)");
    };
    for (const char* const level : {"REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE"}) {
        SCOPED_TRACE(level);
        session.run(std::string("SET SESSION TRANSACTION ISOLATION LEVEL ") + level);
        const std::string id = put("old");
        EXPECT_EQ(put("new"), id);
        EXPECT_EQ(store->find(Queue::inbox, {}).at(0).payload, "new");
        ASSERT_THAT(claim("inbox"), SizeIs(1));
        put("while it is held");
        EXPECT_EQ(store->find(Queue::inbox, {}).at(0).payload, "new");
        session.run("DELETE FROM inbox_lease");
    }
}

TEST_F(MariadbProcedures, ReapTakesBackWhatRanOut) {
    enqueue();
    claim();
    session.run("UPDATE outbox_lease SET locked_until = '2001-01-01'");
    EXPECT_EQ(session.value("CALL outbox_reap()"), "1");
    EXPECT_EQ(store->find(Queue::outbox, {}).at(0).lost_count, 1U);
}

}  // namespace
}  // namespace postroom::test
