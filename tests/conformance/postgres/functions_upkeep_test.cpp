// The SQL functions for any language, continued: settling by message id and by owner, prolonging,
// giving back, redriving, purging, waking.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/dispatcher.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* upkeep_owner = "'00000000-0000-4000-8000-00000000000a'";

class UpkeepFunctions : public testing::Test {
protected:
    UpkeepFunctions()
        : store(postgres::open_store(database.url(), {.deploy_schema = true})),
          session(database.url()) {}

    std::string value(const std::string& expression) {
        return session.value("SELECT " + expression);
    }
    std::string refusal(const std::string& expression) {
        try {
            session.run("SELECT " + expression);
        } catch (const SqlError& error) {
            EXPECT_EQ(error.sqlstate(), "22023") << expression;
            return error.what();
        }
        return "accepted";
    }
    std::string receive(const std::string& message_id, const std::string& source = "s",
                        const std::string& more = "") {
        return value("infra.inbox_enqueue('t', '" + source + "', '" + message_id + "', 'p'::text" +
                     more + ")");
    }
    // Rows: id, lease_id, message_id.
    SqlRows claim(const std::string& queue = "inbox") {
        return session.run("SELECT id, lease_id, message_id FROM infra." + queue + "_claim(" +
                           upkeep_owner + ", 30, 10)");
    }
    std::string by(const std::string& verb, const std::string& more) {
        return value("infra.inbox_" + verb + "_messages(" + upkeep_owner + ", " + more + ")");
    }
    Message get(const std::string& id) {
        return store->find(Queue::inbox, {.ids = {WorkItemId::parse(id).value()}}).at(0);
    }
    // "lease, ARRAY[id]"
    static std::string held(const std::vector<std::optional<std::string>>& row) {
        return row.at(1).value() + "::bigint, ARRAY['" + row.at(0).value() + "']::uuid[]";
    }

    PostgresDatabase database;
    std::unique_ptr<Store> store;
    Session session;
};

TEST_F(UpkeepFunctions, IBX_036_IBX_044_AClaimTellsMessageIdsAndSettlingTakesThem) {
    receive("a");
    receive("b");
    receive("c");
    const SqlRows claimed = claim();
    ASSERT_EQ(claimed.size(), 3U);
    EXPECT_EQ(claimed[0][2], "a");
    EXPECT_EQ(by("ack", "'{a,nobody}'"), "1");
    EXPECT_EQ(by("abandon", "'{b}', 'refused', interval '1 hour'"), "1");
    EXPECT_EQ(by("fail", "'{c}', 'no such customer'"), "1");
    EXPECT_EQ(by("ack", "'{a,b,c}'"), "0");
    EXPECT_EQ(value("infra.inbox_already_processed('a', 's')"), "t");
    EXPECT_EQ(get(claimed[1][0].value()).retry_count, 1U);
    EXPECT_EQ(get(claimed[2][0].value()).state, State::dead);
    EXPECT_EQ(value("infra.inbox_ack_messages('00000000-0000-4000-8000-00000000000b', '{b}')"),
              "0");
}

TEST_F(UpkeepFunctions, AnIdThatIsLeasedFromTwoSourcesIsRefused) {
    receive("a", "s1");
    receive("a", "s2");
    claim();
    EXPECT_THAT(refusal(std::string("infra.inbox_ack_messages(") + upkeep_owner + ", '{a}')"),
                HasSubstr("several sources"));
}

TEST_F(UpkeepFunctions, OBX_033_OBX_040_OBX_046_EveryVerbSettlesByOwner) {
    for (int i = 0; i < 3; ++i) session.run("SELECT infra.outbox_enqueue('t', 'x'::text)");
    const SqlRows claimed = claim("outbox");
    ASSERT_EQ(claimed.size(), 3U);
    const auto owned = [&](std::size_t i) {
        return std::string(upkeep_owner) + "::uuid, ARRAY['" + claimed[i][0].value() + "']::uuid[]";
    };
    EXPECT_EQ(value("infra.outbox_ack(" + owned(0) + ")"), "1");
    EXPECT_EQ(value("infra.outbox_abandon(" + owned(1) + ", 'refused')"), "1");
    EXPECT_EQ(value("infra.outbox_fail(" + owned(2) + ", 'for good')"), "1");
    const Counts counts = store->counts(Queue::outbox);
    EXPECT_EQ(counts.ready, 1U);
    EXPECT_EQ(counts.dead, 1U);
    EXPECT_EQ(store->find(Queue::outbox, {.state = State::done}).size(), 1U);
}

// Goal: without a delay the functions wait by the documents' rule, at every failure and not only
// the first.
TEST_F(UpkeepFunctions,
       OBX_039_OBX_062_IBX_052_IBX_081_TheDefaultBackOffIsTwoToTheNumberOfFailures) {
    const std::string id = receive("a", "s", ", max_attempts => 100");
    for (const int seconds : {2, 4, 8, 16, 32, 60, 60}) {
        session.run("UPDATE infra.inbox_waiting SET available_at = clock_timestamp()");
        const SqlRows claimed = claim();
        ASSERT_EQ(claimed.size(), 1U);
        const Instant before = store->now();
        EXPECT_EQ(value("infra.inbox_abandon(" + held(claimed[0]) + ", 'no')"), "1");
        const Duration waits = get(id).available_at - before;
        EXPECT_GE(waits, std::chrono::seconds{seconds});
        EXPECT_LE(waits, std::chrono::seconds{seconds} + (store->now() - before));
    }
}

TEST_F(UpkeepFunctions, OBX_064_IBX_083_TheDefaultLimitIsTenDeliveries) {
    const std::string id = receive("a");
    for (int n = 1; n <= 10; ++n) {
        EXPECT_EQ(get(id).state, State::ready) << n;
        session.run("UPDATE infra.inbox_waiting SET available_at = clock_timestamp()");
        value("infra.inbox_abandon(" + held(claim().at(0)) + ", 'no')");
    }
    EXPECT_EQ(get(id).state, State::dead);
    EXPECT_EQ(get(id).dead_reason, DeadReason::max_attempts);
}

TEST_F(UpkeepFunctions, IBX_067_AnInboxMessageDoesNotFailWithoutAnError) {
    receive("a");
    const SqlRows claimed = claim();
    EXPECT_THAT(refusal("infra.inbox_fail(" + held(claimed[0]) + ", NULL)"),
                HasSubstr("error: must not be NULL"));
    EXPECT_EQ(value("infra.inbox_fail(" + held(claimed[0]) + ", '')"), "1");
}

TEST_F(UpkeepFunctions, IBX_008_AnotherHashIsAWarning) {
    receive("a", "s", ", hash => '\\x01'");
    EXPECT_EQ(session.notices(), "");
    receive("a", "s", ", hash => '\\x02'");
    EXPECT_THAT(session.notices(), HasSubstr("message a of source s came with another hash"));
    const std::size_t before = session.notices().size();
    value("infra.inbox_already_processed('a', 's', '\\x03')");
    EXPECT_THAT(session.notices().substr(before), HasSubstr("another hash"));
}

TEST_F(UpkeepFunctions, IBX_084_S003_8_3_ReceivedMessagesHavePriorityAttemptsAndAnEnd) {
    const std::string id = receive(
        "a", "s", ", priority => 5, max_attempts => 2, expires_at => now() + interval '1 hour'");
    const Message stored = get(id);
    EXPECT_EQ(stored.priority, 5);
    EXPECT_EQ(stored.max_attempts, 2U);
    EXPECT_TRUE(stored.expires_at.has_value());
    EXPECT_THAT(refusal("infra.inbox_enqueue('t', 's', 'b', 'p'::text, max_attempts => 0)"),
                HasSubstr("max_attempts: 0, at least 1 required"));
}

TEST_F(UpkeepFunctions, ADeadMessageIsRevivedByAnArrivalOrRedriven) {
    const std::string id = receive("a");
    session.run("SELECT infra.inbox_fail(" + held(claim().at(0)) + ", 'no')");
    receive("a");
    EXPECT_EQ(get(id).state, State::dead);
    receive("a", "s", ", revive => true");
    EXPECT_EQ(get(id).state, State::ready);
    session.run("SELECT infra.inbox_fail(" + held(claim().at(0)) + ", 'no')");
    EXPECT_EQ(value("infra.inbox_redrive(ARRAY['" + id + "', gen_random_uuid()]::uuid[])"), "1");
    EXPECT_EQ(get(id).state, State::ready);
    EXPECT_EQ(value("infra.inbox_redrive('{}')"), "0");
}

TEST_F(UpkeepFunctions, LeasesAreProlongedAndGivenBack) {
    const std::string id = receive("a");
    const SqlRows claimed = claim();
    const Instant before = get(id).lease->locked_until;
    EXPECT_EQ(value("infra.inbox_extend(" + held(claimed[0]) + ", 3600)"), "1");
    EXPECT_GT(get(id).lease->locked_until, before + 50min);
    EXPECT_EQ(value("infra.inbox_hand_back(" + held(claimed[0]) + ")"), "1");
    EXPECT_EQ(value("infra.inbox_hand_back(" + held(claimed[0]) + ")"), "0");
    EXPECT_EQ(get(id).retry_count, 0U);
    EXPECT_EQ(claim().size(), 1U);
    EXPECT_THAT(refusal("infra.inbox_extend(1::bigint, '{}', 0)"), HasSubstr("lease: 0 s"));
}

TEST_F(UpkeepFunctions, IBX_098_DoneMessagesArePurged) {
    receive("a");
    by("ack", "'{}'");
    claim();
    by("ack", "'{a}'");
    EXPECT_EQ(value("infra.inbox_purge(interval '1 hour')"), "0");
    EXPECT_EQ(value("infra.inbox_purge(interval '0')"), "1");
    EXPECT_EQ(value("infra.inbox_already_processed('a', 's')"), "f");
}

TEST_F(UpkeepFunctions, S000_8_6_AnExpiredMessageIsDeadAndNeverHandedOut) {
    const std::string id = receive("a", "s", ", expires_at => timestamptz '2001-01-01'");
    receive("b");
    const SqlRows claimed = claim();
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(claimed[0][2], "b");
    EXPECT_EQ(get(id).state, State::dead);
    EXPECT_EQ(get(id).dead_reason, DeadReason::expired);
}

// Goal: a nudge is heard. A dispatcher would not show it: it polls often while it is young, and
// finds the message by itself.
// Method: listen without one, until all is quiet; a nudge that meets a busy server is repeated.
TEST_F(UpkeepFunctions, ANudgeRingsTheBellOfItsQueue) {
    const std::vector<std::pair<Queue, std::string>> queues{{Queue::outbox, "infra.outbox_nudge()"},
                                                            {Queue::inbox, "infra.inbox_nudge()"}};
    for (const auto& [queue, nudge] : queues) {
        const std::unique_ptr<Doorbell> bell = store->doorbell(queue);
        bell->listen({});
        while (bell->wait(300ms, {})) {
        }
        EXPECT_TRUE(wait_until(
            [&] {
                session.run("SELECT " + nudge);
                return bell->wait(2s, {});
            },
            30s))
            << nudge;
    }
}

// Goal: whoever writes with SQL alone need not wait for a poll.
// Method: a dispatcher that would poll in an hour; it is nudged after the commit.
TEST_F(UpkeepFunctions, S001_11_2_ANudgeWakesADispatcherThatListens) {
    std::atomic<int> handled = 0;
    Dispatcher dispatcher(*store, {.hot_capacity = 0, .poll_interval_max = 1h});
    dispatcher.on("t", [&](const Message&) { ++handled; });
    dispatcher.start();
    session.run("SELECT infra.outbox_enqueue('t', 'x'::text)");
    EXPECT_TRUE(wait_until(
        [&] {
            session.run("SELECT infra.outbox_nudge()");
            return handled == 1;
        },
        90s));
}

}  // namespace
}  // namespace postroom::test
