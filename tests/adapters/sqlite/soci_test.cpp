// SOCI on its SQLite backend.
#include "postroom/adapter/soci.hpp"

#include <gtest/gtest.h>

#include "adapters/soci_application.hpp"
#include "adapters/sqlite/sqlite_application.hpp"
#include "postroom/outbox.hpp"

namespace postroom::test {
namespace {

std::pair<std::string, std::string> connection_of(const SqliteFile& file) {
    return {"sqlite3", file.path()};
}

INSTANTIATE_TEST_SUITE_P(
    SqliteSoci, JoinedTransaction,
    testing::Values(Library{
        "Soci", [] { return std::make_unique<SociApplication<SqliteFile>>(&connection_of); }}),
    library_name);

class SociOnSqlite : public testing::Test {
protected:
    SqliteFile file_;
    Outbox outbox_{file_.store()};
    soci::session session_{"sqlite3", file_.path()};
};

TEST_F(SociOnSqlite, ATransactionRunsItsCallbacksAfterTheCommit) {
    bool committed = false;
    bool rolled_back = false;
    // [soci-transaction]
    soci::transaction transaction(session_);
    adapter::SociTransaction tx(session_, transaction);
    session_ << "INSERT INTO orders VALUES ('first')";
    outbox_.enqueue(tx, order_placed());
    tx.after_commit([&] { committed = true; });
    tx.after_rollback([&] { rolled_back = true; });
    tx.commit();
    // [soci-transaction]
    EXPECT_TRUE(committed);
    EXPECT_FALSE(rolled_back);
    EXPECT_FALSE(tx.in_transaction());
    EXPECT_EQ(file_.orders(), 1U);
    EXPECT_EQ(outbox_.counts().ready, 1U);
    EXPECT_THROW(tx.commit(), Error);
}

TEST_F(SociOnSqlite, ATransactionThatIsLeftRollsBack) {
    bool committed = false;
    bool rolled_back = false;
    {
        soci::transaction transaction(session_);
        adapter::SociTransaction tx(session_, transaction);
        outbox_.enqueue(tx, order_placed());
        tx.after_commit([&] { committed = true; });
        tx.after_rollback([&] { rolled_back = true; });
    }
    EXPECT_FALSE(committed);
    EXPECT_TRUE(rolled_back);
    EXPECT_EQ(outbox_.counts().ready, 0U);
}

TEST_F(SociOnSqlite, ALockedFileIsAConflict) {
    const SqliteConnection other(file_.path());
    other.run("BEGIN IMMEDIATE");
    soci::transaction transaction(session_);
    adapter::SociContext tx(session_);
    try {
        outbox_.enqueue(tx, order_placed());
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::conflict);
        EXPECT_THROW(std::rethrow_if_nested(error), soci::soci_error);
    }
}

TEST_F(SociOnSqlite, ErrorTextsNameNoValues) {
    soci::transaction transaction(session_);
    adapter::SociContext tx(session_);
    try {
        tx.execute({"INSERT INTO orders VALUES (nullif(?1, ?1))", {std::string("secret")}});
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rejected);
        EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace postroom::test
