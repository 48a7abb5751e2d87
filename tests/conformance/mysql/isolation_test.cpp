// Callers of the inbox whose transaction looks at an older state of the database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/mysql/session.hpp"
#include "postroom/backend/mysql.hpp"
#include "postroom/inbox.hpp"

namespace postroom::test {
namespace {

ReceivedMessage with_content(const std::string& content) {
    return {.topic = "t", .source = "s", .message_id = "m", .payload = content, .hash = content};
}

// What the message has after it came again in a transaction that began before it was leased. That
// transaction first reads a table of its own: under SERIALIZABLE whatever it reads is locked, and a
// claim would wait for it.
std::string content_after(const std::string& isolation, bool leased) {
    const MariadbDatabase database;
    const auto store = mysql::open_store(database.url(), {.deploy_schema = true});
    const Inbox inbox(*store);
    const ReceiveResult first = inbox.enqueue(with_content("old"));
    NativeSession caller(database.url());
    caller.run("CREATE TABLE of_caller (number INT PRIMARY KEY)");
    caller.run("INSERT INTO of_caller VALUES (1)");
    caller.run("SET SESSION TRANSACTION ISOLATION LEVEL " + isolation);
    caller.run("START TRANSACTION");
    caller.run("SELECT number FROM of_caller");
    std::vector<Message> held;
    if (leased) held = inbox.claim_due(1);
    const auto tx = mysql::borrow(caller.handle());
    inbox.enqueue(*tx, with_content("new"));
    caller.run("COMMIT");
    const std::string content = inbox.get(first.id)->payload;
    EXPECT_EQ(held.size(), leased ? 1U : 0U);
    for (const Message& one : held) {
        EXPECT_EQ(one.payload, "old") << isolation;
        EXPECT_EQ(inbox.ack(one), Settled::done) << isolation;
    }
    return content;
}

TEST(MysqlIsolation, AnOldSnapshotDoesNotReplaceContentUnderALease) {
    EXPECT_EQ(content_after("SERIALIZABLE", true), "old");
    EXPECT_EQ(content_after("REPEATABLE READ", true), "old");
    EXPECT_EQ(content_after("READ COMMITTED", true), "old");
}

// Who may not see a lease that is there takes what could be claimed for leased.
TEST(MysqlIsolation, AnOldSnapshotReplacesNothingThatCouldBeClaimed) {
    EXPECT_EQ(content_after("SERIALIZABLE", false), "old");
    EXPECT_EQ(content_after("REPEATABLE READ", false), "old");
}

TEST(MysqlIsolation, WithoutAnOldSnapshotContentThatNobodyHoldsIsReplaced) {
    EXPECT_EQ(content_after("READ COMMITTED", false), "new");
}

}  // namespace
}  // namespace postroom::test
