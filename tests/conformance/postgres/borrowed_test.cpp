// Statements that stay prepared on a borrowed connection.
#include <gtest/gtest.h>

#include "conformance/postgres/session.hpp"
#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

class PostgresBorrowed : public testing::Test {
protected:
    // Each time as somebody does who borrows the connection anew.
    void enqueue(BorrowOptions options = {.prepare = true}) {
        mine.run("BEGIN");
        const auto tx = postgres::borrow(mine.native(), options);
        outbox.enqueue(*tx, {.topic = "t", .payload = "p"});
        mine.run("COMMIT");
    }
    std::string prepared() { return mine.value("SELECT count(*) FROM pg_prepared_statements"); }

    const PostgresDatabase database;
    const std::unique_ptr<Store> store =
        postgres::open_store(database.url(), {.deploy_schema = true});
    const Outbox outbox{*store};
    Session mine{database.url()};
};

TEST_F(PostgresBorrowed, NoStatementStaysUnlessAsked) {
    enqueue({});
    EXPECT_EQ(prepared(), "0");
}

TEST_F(PostgresBorrowed, AStatementIsPreparedOnceForAllWhoBorrow) {
    enqueue();
    const std::string once = prepared();
    EXPECT_NE(once, "0");
    for (int i = 0; i < 3; ++i) enqueue();
    EXPECT_EQ(prepared(), once);
    EXPECT_EQ(outbox.claim_due(10).size(), 4U);
}

TEST_F(PostgresBorrowed, ARolledBackTransactionLeavesThemUsable) {
    mine.run("BEGIN");
    outbox.enqueue(*postgres::borrow(mine.native(), {.prepare = true}),
                   {.topic = "t", .payload = "undone"});
    mine.run("ROLLBACK");
    enqueue();
    EXPECT_EQ(outbox.claim_due(10).size(), 1U);
}

TEST_F(PostgresBorrowed, AConnectionThatIsMadeAnewHasNone) {
    enqueue();
    PQreset(mine.native());
    ASSERT_EQ(prepared(), "0");
    enqueue();
    EXPECT_EQ(outbox.claim_due(10).size(), 2U);
}

// One transaction pays for it, and the next is right again.
TEST_F(PostgresBorrowed, StatementsThatTheirOwnerDiscardsAreMissedOnce) {
    enqueue();
    mine.run("DISCARD ALL");
    EXPECT_THROW(enqueue(), Error);
    mine.run("ROLLBACK");
    enqueue();
    EXPECT_EQ(outbox.claim_due(10).size(), 2U);
}

}  // namespace
}  // namespace postroom::test
