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

// What the message has after it came again in a transaction that began before it was leased.
std::string content_after(const std::string& isolation, bool leased) {
    const MariadbDatabase database;
    const auto store = mysql::open_store(database.url(), {.deploy_schema = true});
    const Inbox inbox(*store);
    const ReceiveResult first = inbox.enqueue(with_content("old"));
    NativeSession caller(database.url());
    caller.run("SET SESSION TRANSACTION ISOLATION LEVEL " + isolation);
    caller.run("START TRANSACTION");
    caller.run("SELECT COUNT(*) FROM inbox_lease");
    std::vector<Message> held;
    if (leased) held = inbox.claim_due(1);
    const auto tx = mysql::borrow(caller.handle());
    inbox.enqueue(*tx, with_content("new"));
    caller.run("COMMIT");
    for (const Message& one : held) EXPECT_EQ(one.payload, "old");
    return inbox.get(first.id)->payload;
}

TEST(MysqlIsolation, AnOldSnapshotDoesNotReplaceContentUnderALease) {
    EXPECT_EQ(content_after("REPEATABLE READ", true), "old");
    EXPECT_EQ(content_after("READ COMMITTED", true), "old");
}

TEST(MysqlIsolation, WithoutAnOldSnapshotContentThatNobodyHoldsIsReplaced) {
    EXPECT_EQ(content_after("READ COMMITTED", false), "new");
}

}  // namespace
}  // namespace postroom::test
