// Callers of the inbox whose transaction looks at an older state of the database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/inbox.hpp"

namespace postroom::test {
namespace {

ReceivedMessage with_content(const std::string& content) {
    return {.topic = "t", .source = "s", .message_id = "m", .payload = content, .hash = content};
}

// Goal: content that somebody holds is not replaced. Method: the lease is younger than the snapshot
// of the receiver, who cannot see it.
TEST(PostgresIsolation, AnOldSnapshotDoesNotReplaceContentUnderALease) {
    for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
        const PostgresDatabase database;
        const auto store = postgres::open_store(database.url(), {.deploy_schema = true});
        const Inbox inbox(*store);
        inbox.enqueue(with_content("old"));
        Session caller(database.url());
        caller.run("BEGIN ISOLATION LEVEL " + level + "; SELECT count(*) FROM infra.inbox_key");
        const std::vector<Message> held = inbox.claim_due(1);
        ASSERT_EQ(held.size(), 1U);
        const auto tx = postgres::borrow(caller.native());
        const ReceiveResult again = inbox.enqueue(*tx, with_content("new"));
        EXPECT_TRUE(again.hash_mismatch);
        caller.run("COMMIT");
        EXPECT_EQ(inbox.get(held.front().id)->payload, "old") << level;
        EXPECT_EQ(inbox.ack(held.front()), Settled::done) << level;
    }
}

// Nobody claims a message that is dead: there is nothing to miss.
TEST(PostgresIsolation, AnOldSnapshotRevivesWhatIsDead) {
    const PostgresDatabase database;
    const auto store = postgres::open_store(database.url(), {.deploy_schema = true});
    const Inbox inbox(*store);
    inbox.enqueue(with_content("old"));
    inbox.fail(inbox.claim_due(1), "no");
    Session caller(database.url());
    caller.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    const auto tx = postgres::borrow(caller.native());
    const std::vector<ReceivedMessage> revived{with_content("new")};
    store->receive(tx.get(), revived, true);
    caller.run("COMMIT");
    const std::vector<Message> claimed = inbox.claim_due(1);
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(claimed.front().payload, "new");
}

}  // namespace
}  // namespace postroom::test
