// What a transaction of a store does at its end, shown on SQLite with a pool of one connection.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <vector>

#include "postroom/backend/sqlite.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::transaction_test {
namespace {

class SqliteTransaction : public testing::Test {
protected:
    std::string path() const { return (directory_ / "shop.db").string(); }

private:
    test::TempDir directory_;
};

// Goal: a transaction that has ended holds no connection, so that what follows in the same scope
// can have it.
TEST_F(SqliteTransaction, GivesItsConnectionBackBeforeTheCallbacksRun) {
    const auto store = open_store(path(), {.deploy_schema = true, .pool_max = 1});
    const Outbox outbox(*store);
    const auto tx = store->begin();
    tx->after_commit([&] { outbox.enqueue({.topic = "from.callback", .payload = ""}); });
    outbox.enqueue(*tx, {.topic = "t", .payload = ""});
    tx->commit();
    EXPECT_EQ(outbox.counts().ready, 2U);
}

// Goal: a statement after the database rolled back by itself must not stand alone.
TEST_F(SqliteTransaction, RefusesToGoOnAfterTheDatabaseEndedIt) {
    const auto store = open_store(path(), {.deploy_schema = true});
    const auto run = [&](Transaction& tx, const std::string& sql) {
        tx.execute({.sql = sql, .params = {}});
    };
    {
        const auto tx = store->begin();
        run(*tx, "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
        run(*tx, "INSERT INTO orders VALUES (1)");
        tx->commit();
    }
    const auto tx = store->begin();
    EXPECT_THROW(run(*tx, "INSERT OR ROLLBACK INTO orders VALUES (1)"), Error);
    EXPECT_FALSE(tx->in_transaction());
    EXPECT_THROW(run(*tx, "INSERT INTO orders VALUES (2)"), Error);
    bool rolled_back = false;
    EXPECT_NO_THROW(tx->after_rollback([&] { rolled_back = true; }));
    tx->rollback();
    EXPECT_TRUE(rolled_back);
    const auto after = store->begin();
    EXPECT_EQ(after->execute({.sql = "SELECT count(*) FROM orders", .params = {}}).at(0).at(0),
              "1");
}

// Goal: a schema that a DBA made from the script counts as deployed.
TEST_F(SqliteTransaction, AScriptRunByHandCountsAsDeployed) {
    const auto schema = open_schema(path());
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, schema->script().c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
    EXPECT_TRUE(schema->report().pending.empty());
    EXPECT_NO_THROW(schema->deploy());
    const auto store = open_store(path());
    EXPECT_NO_THROW(Outbox(*store).enqueue({.topic = "t", .payload = ""}));
}

}  // namespace
}  // namespace postroom::sqlite::transaction_test
