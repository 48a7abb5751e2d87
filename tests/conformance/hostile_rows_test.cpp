// What somebody with the right to insert may write does not stop the queue, nor fill its memory.
#include <set>

#include "conformance/law.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::IsSupersetOf;

// Whether the database took it.
template <class Act>
bool taken(const Act& act) {
    try {
        act();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

// The largest comes last: where the database takes it, there is none left for the next message, and
// only the rights of a writer keep it from being set.
TEST_P(SqlSurfaceLaw, ANumberGivenByHandHoldsUpNoClaim) {
    for (const std::string number : {"-5", "5000000000000", "9223372036854775807"}) {
        const auto ours = put_many(2);
        const bool in_table = taken([&] {
            sql("INSERT INTO " + table("outbox_live") + " (seq, topic, payload) VALUES (" + number +
                ", 'hostile', " + payload("") + ")");
        });
        pass(20ms);  // what lies below the highest number is not looked for more often than this
        const auto ids = ids_of(claim());
        EXPECT_THAT(ids, IsSupersetOf(ours)) << number;
        if (in_table) sql("DELETE FROM " + table("outbox_live") + " WHERE topic = 'hostile'");
    }
}

TEST_P(SqlSurfaceLaw, AfterANumberFarAheadMessagesAreStillClaimed) {
    put();
    claim();
    taken([&] {
        sql("INSERT INTO " + table("outbox_live") +
            " (seq, topic, payload) VALUES (5000000000000, 'hostile', " + payload("") + ")");
    });
    claim();
    const WorkItemId later = put();
    EXPECT_TRUE(wait_until([&] { return testing::Value(ids_of(claim()), Contains(later)); }, 60s));
}

// Writes a row to waiting with the number of the message `of`.
std::string twin_of(const std::string& waiting, const std::string& live, const WorkItemId& of) {
    return "INSERT INTO " + waiting +
           " (seq, nonce, available_at, created_at, message_id, topic, payload) "
           "SELECT seq, 77, created_at, created_at, 'twin', topic, 'twin' FROM " +
           live + " WHERE seq = " + std::to_string(of.seq());
}

TEST_P(SqlSurfaceLaw, AWaitingRowWithTheNumberOfALeasedMessageHoldsNothingUp) {
    const WorkItemId id = put({.payload = "original"});
    ASSERT_EQ(claim_one(short_lease).id, id);
    std::set<std::string> expected{"original"};
    if (taken([&] { sql(twin_of(table("outbox_waiting"), table("outbox_live"), id)); }))
        expected.insert("twin");
    pass(after_short_lease);
    std::set<std::string> delivered;
    const bool all = wait_until(
        [&] {
            for (const Message& message : claim()) {
                EXPECT_EQ(message.lost_count, message.payload == "original" ? 1U : 0U);
                if (outbox().ack(message) == Settled::done) delivered.insert(message.payload);
            }
            return delivered == expected;
        },
        60s);
    EXPECT_TRUE(all) << testing::PrintToString(delivered);
}

TEST_P(SqlSurfaceLaw, AWaitingRowWithTheNumberOfAFreshMessageHoldsNothingUp) {
    const WorkItemId id = put({.payload = "original"});
    std::set<std::string> expected{"original"};
    if (taken([&] { sql(twin_of(table("outbox_waiting"), table("outbox_live"), id)); }))
        expected.insert("twin");
    std::set<std::string> delivered;
    for (int i = 0; i < 3; ++i) {
        for (const Message& message : claim()) {
            if (outbox().ack(message) == Settled::done) delivered.insert(message.payload);
        }
    }
    EXPECT_EQ(delivered, expected);
}

TEST_P(SqlSurfaceLaw, APlainInsertIsHeldToTheLimits) {
    const Limits limits = store().limits();
    const auto insert = [&](std::size_t body, std::size_t header) {
        sql("INSERT INTO " + table("outbox_live") + " (topic, payload, headers) VALUES ('t', " +
            payload(std::string(body, 'x')) + ", '{\"h\":\"" + std::string(header, 'x') + "\"}')");
    };
    EXPECT_NO_THROW(insert(limits.max_payload_bytes, limits.headers_bytes));
    EXPECT_THAT(thrown([&] { insert(limits.max_payload_bytes + 1, 1); }),
                testing::AllOf(testing::HasSubstr("payload"), testing::HasSubstr("1048576")));
    EXPECT_THAT(thrown([&] { insert(1, 2'000'000); }), testing::HasSubstr("headers"));
    EXPECT_THAT(claim(), testing::SizeIs(1));
}

// Goal: a limit that was lowered does not bring messages down that were taken before.
TEST_P(SqlSurfaceLaw, WhatIsAboveALimitThatWasLoweredCanStillWait) {
    OpenOptions large;
    large.limits.max_payload_bytes = std::size_t{4} * 1024 * 1024;
    open(large);
    const WorkItemId id = put({.payload = std::string(std::size_t{3} * 1024 * 1024, 'x')});
    // MySQL looks at the rows that are there, and refuses to lower it.
    taken([&] { sql_sandbox().schema({})->deploy(); });
    ASSERT_EQ(claim_one(short_lease).id, id);
    pass(after_short_lease);
    const Message lost = claim_one();
    EXPECT_EQ(lost.id, id);
    EXPECT_EQ(lost.lost_count, 1U);
    EXPECT_EQ(outbox().abandon(lost, "not now", 1ms), Settled::ready);
    pass(20ms);
    EXPECT_EQ(outbox().fail(claim_one(), "no"), Settled::dead);
    EXPECT_EQ(outbox().redrive(std::vector{id}), 1U);
    EXPECT_EQ(outbox().ack(claim_one()), Settled::done);
}

}  // namespace
}  // namespace postroom::test
