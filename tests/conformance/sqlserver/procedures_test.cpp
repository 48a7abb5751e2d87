// The procedures for any language, called as another language would, where a user has named a
// server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/ulid.hpp"
#include "postroom/backend/sqlserver.hpp"
#include "postroom/outbox.hpp"
#include "support/sqlserver_server.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* owner = "'6f1c7a52-8a3e-4b7c-9d55-000000000001'";

// The parameter is the server's URL: without one there is nothing to run.
class SqlServerProcedures : public testing::TestWithParam<std::string> {
protected:
    // What a statement is refused with; empty when it is not.
    std::string refusal(const std::string& sql) {
        try {
            session.run(sql);
            return {};
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }
    std::string enqueue(const std::string& more = "") {
        return session.value("EXEC infra.outbox_enqueue N't', 0x70" + more);
    }
    // The rows of a claim of up to ten: id, lease id, message id.
    SqlRows claim(const std::string& queue = "outbox") {
        return session.run("EXEC infra." + queue + "_claim " + owner + ", 30, 10");
    }
    std::string count(const std::string& table) {
        return session.value("SELECT COUNT(*) FROM infra." + table);
    }
    static std::string ids(const std::string& id) { return "N'[\"" + id + "\"]'"; }
    // A settle of one message under the lease that a claim gave it.
    std::string settle(const std::string& verb, const SqlRows& claimed,
                       const std::string& more = "") {
        return session.value("EXEC infra.outbox_" + verb + " " + claimed.at(0).at(1).value() +
                             ", " + ids(claimed.at(0).at(0).value()) + more);
    }

    SqlServerDeployed database;
    SqlServerSession session{database->url()};
    std::unique_ptr<Store> store = sqlserver::open_store(database->url());
};

std::vector<std::string> servers() {
    if (const std::optional<std::string> url = sqlserver_url()) return {*url};
    return {};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlServerProcedures);
INSTANTIATE_TEST_SUITE_P(, SqlServerProcedures, testing::ValuesIn(servers()),
                         [](const auto&) { return "SqlServer"; });

// Goal: one form of message ids whoever makes them, so that a message is found by its time.
TEST_P(SqlServerProcedures, AndPlainInsertsMakeMessageIdsAsTheLibraryDoes) {
    enqueue();
    session.run("INSERT INTO infra.outbox_live (topic, payload) VALUES (N't', 0x70), (N't', 0x70)");
    std::set<std::string> ids;
    for (const Message& stored : store->find(Queue::outbox, {})) {
        ids.insert(stored.message_id.str());
        const std::optional<Instant> made = base::ulid_time(stored.message_id.str());
        ASSERT_TRUE(made.has_value()) << stored.message_id.str();
        EXPECT_LE(std::chrono::abs(*made - stored.created_at), std::chrono::seconds{5});
    }
    EXPECT_EQ(ids.size(), 3U);
}

TEST_P(SqlServerProcedures, SpeakOfTheSameIdsAsTheLibrary) {
    const std::string id = enqueue();
    const auto found = store->find(Queue::outbox, {});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].id.to_string(), id);
    const SqlRows claimed = claim();
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0][0], id);
    EXPECT_EQ(claimed[0][2], found[0].message_id.str());
    const SqlRows read = session.run("EXEC infra.outbox_read " + claimed[0][1].value());
    ASSERT_THAT(read, SizeIs(1));
    EXPECT_EQ(read[0][0], id);
}

TEST_P(SqlServerProcedures, SettleWhatTheirLeaseHolds) {
    enqueue();
    const SqlRows first = claim();
    EXPECT_EQ(session.value("EXEC infra.outbox_ack 1, " + ids(first.at(0).at(0).value())), "0");
    EXPECT_EQ(settle("ack", first), "1");
    EXPECT_EQ(settle("ack", first), "0");
    EXPECT_EQ(count("outbox_done"), "1");
    enqueue();
    EXPECT_EQ(settle("abandon", claim(), ", N'refused', 3600"), "1");
    EXPECT_THAT(claim(), IsEmpty());
    const auto waiting = store->find(Queue::outbox, {.state = State::ready});
    ASSERT_THAT(waiting, SizeIs(1));
    EXPECT_EQ(waiting[0].retry_count, 1U);
    EXPECT_EQ(waiting[0].last_error, "refused");
    enqueue();
    EXPECT_EQ(settle("fail", claim(), ", N'no \"such\"'"), "1");
    const auto dead = store->find(Queue::outbox, {.state = State::dead});
    ASSERT_THAT(dead, SizeIs(1));
    const auto attempts = controls_of(*store)->attempts(Queue::outbox, dead[0].id);
    ASSERT_THAT(attempts, SizeIs(1));
    EXPECT_EQ(attempts[0].error, "no \"such\"");
    EXPECT_EQ("'" + attempts[0].worker.to_string() + "'", owner);
}

TEST_P(SqlServerProcedures, ProlongHandBackRedriveAndPurge) {
    const std::string id = enqueue();
    const SqlRows first = claim();
    EXPECT_THAT(
        session.run("EXEC infra.outbox_extend " + first[0][1].value() + ", " + ids(id) + ", 3600"),
        SizeIs(1));
    EXPECT_EQ(settle("hand_back", first), "1");
    EXPECT_EQ(store->find(Queue::outbox, {}).at(0).retry_count, 0U);
    const SqlRows second = claim();
    EXPECT_EQ(settle("fail", second, ", N'no'"), "1");
    EXPECT_EQ(session.value("EXEC infra.outbox_redrive " + ids(id)), "1");
    EXPECT_EQ(session.value("EXEC infra.outbox_redrive " + ids(id)), "0");
    EXPECT_EQ(settle("ack", claim()), "1");
    EXPECT_EQ(session.value("EXEC infra.outbox_purge 3600"), "0");
    EXPECT_EQ(session.value("EXEC infra.outbox_purge 0"), "1");
}

TEST_P(SqlServerProcedures, WhatHasExpiredDiesInTheClaimAndMakesRoom) {
    enqueue(", @expires_at = '2001-01-01'");
    const std::string id = enqueue();
    const SqlRows claimed =
        session.run(std::string("EXEC infra.outbox_claim ") + owner + ", 30, 1");
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0][0], id);
    const auto dead = store->find(Queue::outbox, {.state = State::dead});
    ASSERT_THAT(dead, SizeIs(1));
    EXPECT_EQ(dead[0].dead_reason, DeadReason::expired);
}

TEST_P(SqlServerProcedures, SettleByOwnerAcrossLeases) {
    const std::string first = enqueue();
    claim();
    const std::string second = enqueue();
    claim();
    const std::string both = "N'[\"" + first + "\", \"" + second + "\", \"no id\"]'";
    EXPECT_EQ(
        session.value("EXEC infra.outbox_ack_by_owner '" + Uuid{{7}}.to_string() + "', " + both),
        "0");
    EXPECT_EQ(session.value(std::string("EXEC infra.outbox_ack_by_owner ") + owner + ", " + both),
              "2");
    const std::string third = enqueue();
    const std::string fourth = enqueue();
    claim();
    EXPECT_EQ(session.value(std::string("EXEC infra.outbox_abandon_by_owner ") + owner + ", " +
                            ids(third) + ", N'refused', 3600"),
              "1");
    EXPECT_EQ(session.value(std::string("EXEC infra.outbox_fail_by_owner ") + owner + ", " +
                            ids(fourth) + ", N'for good'"),
              "1");
    EXPECT_EQ(store->counts(Queue::outbox).ready, 1U);
    EXPECT_EQ(store->counts(Queue::outbox).dead, 1U);
}

TEST_P(SqlServerProcedures, AKeyThatIsTakenBringsTheFirstIdBack) {
    const std::string id = enqueue(", @idempotency_key = N'k'");
    EXPECT_EQ(enqueue(", @idempotency_key = N'k'"), id);
    EXPECT_NE(enqueue(", @idempotency_key = N'k '"), id);
    EXPECT_NE(enqueue(", @idempotency_key = N'K'"), id);
    EXPECT_EQ(count("outbox"), "3");
    EXPECT_TRUE(Outbox(*store)
                    .enqueue({.topic = "t", .payload = "p", .idempotency_key = "k"})
                    .already_existed);
}

TEST_P(SqlServerProcedures, TakePartInTheCallersTransaction) {
    session.run("BEGIN TRANSACTION");
    enqueue();
    enqueue(", @idempotency_key = N'k'");
    session.run("ROLLBACK");
    EXPECT_EQ(count("outbox"), "0");
    EXPECT_EQ(count("outbox_key"), "0");
}

TEST_P(SqlServerProcedures, AClaimInsideALongerTransactionIsRefusedAndSpoilsNothing) {
    session.run("BEGIN TRANSACTION");
    enqueue();
    EXPECT_THAT(refusal(std::string("EXEC infra.outbox_claim ") + owner + ", 30, 10"),
                HasSubstr("a transaction of its own"));
    session.run("COMMIT");
    EXPECT_THAT(claim(), SizeIs(1));
}

// Goal: the limit is that of whoever deployed last, above the usual one and below it.
TEST_P(SqlServerProcedures, OBX_096_IBX_118_HoldPayloadsToTheLimitOfTheDeployment) {
    database.spoil();
    for (const std::size_t limit : {std::size_t{2} * 1024 * 1024, std::size_t{2048}}) {
        OpenOptions options;
        options.limits.max_payload_bytes = limit;
        sqlserver::open_schema(database->url(), options)->deploy();
        const auto put = [&](const std::string& start, std::size_t bytes) {
            return refusal(
                "DECLARE @p VARBINARY(MAX) = CAST(REPLICATE(CAST('x' AS VARCHAR(MAX)), " +
                std::to_string(bytes) + ") AS VARBINARY(MAX)); EXEC " + start + ", @p");
        };
        for (const std::string& start :
             {std::string("infra.outbox_enqueue N't'"),
              "infra.inbox_enqueue N't', N's', N'm" + std::to_string(limit) + "'"}) {
            EXPECT_EQ(put(start, limit), "");
            EXPECT_THAT(put(start, limit + 1),
                        HasSubstr("payload: " + std::to_string(limit + 1) + " bytes, at most " +
                                  std::to_string(limit) + " allowed (max_payload_bytes)"));
        }
    }
}

TEST_P(SqlServerProcedures, RefuseWhatTheLibraryRefuses) {
    const std::string long_text = "N'" + std::string(256, 't') + "'";
    const auto put = [&](const std::string& arguments) {
        return refusal("EXEC infra.outbox_enqueue " + arguments);
    };
    EXPECT_THAT(put("N'', 0x70"), HasSubstr("topic: must not be empty"));
    EXPECT_THAT(put(long_text + ", 0x70"), HasSubstr("topic: 256 characters, at most 255 allowed"));
    EXPECT_THAT(put("N't', NULL"), HasSubstr("payload: missing"));
    EXPECT_THAT(put("N't', 0x70, @headers = N'[1]'"), HasSubstr("headers: must be a JSON object"));
    EXPECT_THAT(put("N't', 0x70, @headers = N'{'"), HasSubstr("headers: must be a JSON object"));
    EXPECT_THAT(put("N't', 0x70, @tenant_id = " + long_text), HasSubstr("tenant_id: 256"));
    EXPECT_THAT(put("N't', 0x70, @ordering_key = " + long_text), HasSubstr("ordering_key: 256"));
    EXPECT_THAT(put("N't', 0x70, @message_id = " + long_text), HasSubstr("message_id: 256"));
    EXPECT_THAT(put("N't', 0x70, @max_attempts = 0"), HasSubstr("max_attempts: 0"));
    EXPECT_THAT(put("N't', 0x70, @due_time = '2030-01-02', @expires_at = '2030-01-01'"),
                HasSubstr("expires_at: must lie after due_time"));
    const auto take = [&](const std::string& arguments) {
        return refusal("EXEC infra.outbox_claim " + arguments);
    };
    EXPECT_THAT(take("'00000000-0000-0000-0000-000000000000', 30, 10"), HasSubstr("owner_token"));
    EXPECT_THAT(take(owner + std::string(", 0, 10")), HasSubstr("lease: 0"));
    EXPECT_THAT(take(owner + std::string(", 30, 0")), HasSubstr("batch: 0"));
    EXPECT_THAT(refusal("EXEC infra.outbox_ack 1, NULL"), HasSubstr("ids: must not be NULL"));
    EXPECT_THAT(refusal("EXEC infra.outbox_ack NULL, N'[]'"),
                HasSubstr("lease_id: must not be NULL"));
    EXPECT_THAT(refusal("EXEC infra.inbox_fail 1, N'[]'"), HasSubstr("error: must not be NULL"));
    EXPECT_THAT(refusal("EXEC infra.inbox_mark_processed N'', N's'"),
                HasSubstr("message_id: must not be empty"));
    EXPECT_EQ(count("outbox"), "0");
}

TEST_P(SqlServerProcedures, TheInboxReceivesOnce) {
    const std::string put = "EXEC infra.inbox_enqueue N't', N'Stripe', N'evt_1', 0x70";
    const std::string seen = "EXEC infra.inbox_already_processed N'evt_1', N'Stripe'";
    EXPECT_EQ(session.value(seen), "0");
    const std::string id = session.value(put);
    EXPECT_EQ(session.value(put), id);
    ASSERT_THAT(claim("inbox"), SizeIs(1));
    EXPECT_EQ(session.value(std::string("EXEC infra.inbox_ack_messages ") + owner +
                            ", N'[\"evt_1\", \"other\"]'"),
              "1");
    EXPECT_EQ(session.value(seen), "1");
    EXPECT_EQ(session.run(put).at(0).at(0), std::nullopt);
    EXPECT_EQ(session.value("EXEC infra.inbox_mark_dead N'nobody', N'Stripe', N'e'"), "0");
    EXPECT_EQ(session.value("EXEC infra.inbox_already_processed N'EVT_1', N'Stripe'"), "0");
    EXPECT_EQ(session.value("EXEC infra.inbox_mark_processed N'EVT_1', N'Stripe'"), "1");
}

TEST_P(SqlServerProcedures, IBX_084_S003_8_3_ReceivedMessagesHavePriorityAttemptsAndAnEnd) {
    const std::string put = "EXEC infra.inbox_enqueue N't', N's', N'a', 0x70";
    session.run(put + ", @priority = 5, @max_attempts = 2, @expires_at = '2999-01-01'");
    const Message stored = store->find(Queue::inbox, {}).at(0);
    EXPECT_EQ(stored.priority, 5);
    EXPECT_EQ(stored.max_attempts, 2U);
    EXPECT_TRUE(stored.expires_at.has_value());
    EXPECT_THAT(refusal(put + ", @max_attempts = 0"), HasSubstr("max_attempts: 0, at least 1"));
}

TEST_P(SqlServerProcedures, ADeadInboxMessageIsRevivedByAnArrivalOrRedriven) {
    const std::string put = "EXEC infra.inbox_enqueue N't', N's', N'a', 0x70";
    const std::string fail = std::string("EXEC infra.inbox_fail_messages ") + owner +
                             ", N'[\"a\"]', N'no such customer'";
    const std::string id = session.value(put);
    const auto state = [&] { return store->find(Queue::inbox, {}).at(0).state; };
    claim("inbox");
    EXPECT_EQ(session.value(fail), "1");
    session.run(put);
    EXPECT_EQ(state(), State::dead);
    session.run(put + ", @revive = 1");
    EXPECT_EQ(state(), State::ready);
    claim("inbox");
    EXPECT_EQ(session.value(fail), "1");
    EXPECT_EQ(session.value("EXEC infra.inbox_redrive " + ids(id)), "1");
    EXPECT_EQ(state(), State::ready);
}

TEST_P(SqlServerProcedures, InboxLeasesAreProlongedAndGivenBackAndDoneMessagesPurged) {
    const std::string id = session.value("EXEC infra.inbox_enqueue N't', N's', N'a', 0x70");
    const std::string held = claim("inbox").at(0).at(1).value() + ", " + ids(id);
    EXPECT_THAT(session.run("EXEC infra.inbox_extend " + held + ", 3600"), SizeIs(1));
    EXPECT_EQ(session.value("EXEC infra.inbox_hand_back " + held), "1");
    EXPECT_EQ(session.value("EXEC infra.inbox_hand_back " + held), "0");
    ASSERT_THAT(claim("inbox"), SizeIs(1));
    const std::string mine = std::string(" ") + owner + ", N'[\"a\"]'";
    EXPECT_EQ(session.value("EXEC infra.inbox_abandon_messages" + mine + ", N'no', 0.001"), "1");
    session.run("WAITFOR DELAY '00:00:00.050'");
    ASSERT_THAT(claim("inbox"), SizeIs(1));
    EXPECT_EQ(session.value("EXEC infra.inbox_ack_messages" + mine), "1");
    EXPECT_EQ(session.value("EXEC infra.inbox_purge 3600"), "0");
    EXPECT_EQ(session.value("EXEC infra.inbox_purge 0"), "1");
}

TEST_P(SqlServerProcedures, AnIdFromTwoSourcesIsSettledByLease) {
    session.run("EXEC infra.inbox_enqueue N't', N'a', N'evt_1', 0x70");
    session.run("EXEC infra.inbox_enqueue N't', N'b', N'evt_1', 0x70");
    ASSERT_THAT(claim("inbox"), SizeIs(2));
    EXPECT_THAT(refusal(std::string("EXEC infra.inbox_ack_messages ") + owner + ", N'[\"evt_1\"]'"),
                HasSubstr("leased from several sources"));
}

TEST_P(SqlServerProcedures, ReapTakesBackWhatRanOut) {
    enqueue();
    claim();
    session.run("UPDATE infra.outbox_message SET locked_until = '2001-01-01'");
    EXPECT_EQ(session.value("EXEC infra.outbox_reap"), "1");
    EXPECT_EQ(store->find(Queue::outbox, {}).at(0).lost_count, 1U);
}

}  // namespace
}  // namespace postroom::test
