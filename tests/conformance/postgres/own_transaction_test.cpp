// Transactions of our own on PostgreSQL: BEGIN travels with the first statement, and statements of
// the user that come again are prepared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "support/postgres_server.hpp"

namespace postroom::test::own_transaction_test {
namespace {

class PostgresTransactions : public testing::Test {
protected:
    PostgresTransactions() { database.psql("CREATE TABLE t (id integer PRIMARY KEY, v integer)"); }

    // One connection, so that every transaction is on the same.
    std::unique_ptr<Store> open(const std::string& url, bool pooled = false) const {
        return postgres::open_store(url,
                                    {.deploy_schema = !pooled, .pool_max = 1, .pooled = pooled});
    }
    static void add(Store& store, std::int64_t id) {
        const auto tx = store.begin();
        tx->execute({insert, {id}});
        tx->commit();
    }
    static std::string prepared(Store& store) {
        const auto tx = store.begin();
        return tx
            ->execute({"SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE "
                       "'%INTO t %' OR statement LIKE 'SELECT v%'",
                       {}})
            .at(0)
            .at(0)
            .value();
    }
    // Of the server process behind the one connection.
    static std::string pid(Store& store) {
        return store.begin()->execute({"SELECT pg_backend_pid()", {}}).at(0).at(0).value();
    }
    static ErrorKind kind_of_failure(Transaction& tx, const SqlStatement& statement) {
        try {
            tx.execute(statement);
        } catch (const Error& error) {
            return error.kind();
        }
        ADD_FAILURE() << "accepted: " << statement.sql.substr(0, 80);
        return ErrorKind::rejected;
    }
    std::string rows() const { return database.psql("SELECT count(*) FROM t").at(0).at(0).value(); }

    static constexpr const char* insert = "INSERT INTO t (id, v) VALUES ($1, 7)";
    PostgresDatabase database;
};

// Goal: a transaction that was ended on the native handle is not taken for the one that followed.
TEST_F(PostgresTransactions, OneThatWasChainedToAnotherByHandIsNotCommitted) {
    const auto store = open(database.url());
    for (const char* const end : {"ROLLBACK AND CHAIN", "COMMIT AND CHAIN"}) {
        const auto tx = store->begin();
        PGconn* const handle = postgres::handle(*tx);
        PQclear(PQexec(handle, "INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING"));
        PQclear(PQexec(handle, end));
        PQclear(PQexec(handle, "INSERT INTO t VALUES (2, 2)"));
        try {
            tx->commit();
            ADD_FAILURE() << end << " was not noticed";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::misuse) << end;
        }
    }
    EXPECT_EQ(database.psql("SELECT id FROM t"), (SqlRows{{"1"}}));
}

TEST_F(PostgresTransactions, SavepointsAndSettingsByHandDoNotEndOne) {
    const auto store = open(database.url());
    const auto tx = store->begin();
    tx->execute({"SAVEPOINT a", {}});
    PGconn* const handle = postgres::handle(*tx);
    for (const char* const statement :
         {"INSERT INTO t VALUES (1, 1)", "ROLLBACK TO SAVEPOINT a", "SET timezone = 'Asia/Tokyo'",
          "RESET ALL", "INSERT INTO t VALUES (2, 2)"})
        PQclear(PQexec(handle, statement));
    tx->commit();
    EXPECT_EQ(database.psql("SELECT id FROM t"), (SqlRows{{"2"}}));
}

TEST_F(PostgresTransactions, AnEmptyOneMayEndEitherWay) {
    const auto store = open(database.url());
    for (int i = 0; i < 2; ++i) {
        const auto kept = store->begin();
        EXPECT_TRUE(kept->in_transaction());
        kept->commit();
        EXPECT_FALSE(kept->in_transaction());
        store->begin()->rollback();
    }
    add(*store, 1);
    EXPECT_EQ(rows(), "1");
}

TEST_F(PostgresTransactions, AFirstStatementThatFailsLeavesNothingBehind) {
    const auto store = open(database.url());
    add(*store, 1);
    {
        const auto tx = store->begin();
        EXPECT_THROW(tx->execute({insert, {std::int64_t{1}}}), Error);
        EXPECT_TRUE(tx->in_transaction());
        EXPECT_THROW(tx->execute({insert, {std::int64_t{2}}}), Error) << "it has failed as a whole";
        tx->rollback();
    }
    add(*store, 2);
    EXPECT_EQ(rows(), "2");
}

TEST_F(PostgresTransactions, TheHandleIsInTheTransactionFromTheStart) {
    const auto store = open(database.url());
    const auto tx = store->begin();
    PGconn* const handle = postgres::handle(*tx);
    EXPECT_EQ(PQtransactionStatus(handle), PQTRANS_INTRANS);
    PQclear(PQexec(handle, "INSERT INTO t VALUES (1, 1)"));
    tx->execute({insert, {std::int64_t{2}}});
    tx->rollback();
    EXPECT_EQ(rows(), "0");
}

TEST_F(PostgresTransactions, AStatementThatComesAgainIsPreparedOnceUnlessItHasRows) {
    const auto store = open(database.url());
    for (std::int64_t id = 0; id < 10; ++id) {
        add(*store, id);
        EXPECT_EQ(store->begin()->execute({"SELECT v FROM t WHERE id = $1", {id}}),
                  (SqlRows{{"7"}}));
    }
    EXPECT_EQ(prepared(*store), "1");
    EXPECT_EQ(rows(), "10");
}

TEST_F(PostgresTransactions, ThroughAPoolerNothingIsPrepared) {
    open(database.url());
    const auto store = open(database.via_pgbouncer_url(), /*pooled=*/true);
    for (std::int64_t id = 0; id < 10; ++id) add(*store, id);
    EXPECT_EQ(prepared(*store), "0");
    EXPECT_EQ(rows(), "10");
}

TEST_F(PostgresTransactions, ATableThatChangesCostsAPreparedStatementOneTransactionAtMost) {
    const auto store = open(database.url());
    for (std::int64_t id = 0; id < 10; ++id) add(*store, id);
    // The parameter was prepared as an integer.
    database.psql("ALTER TABLE t ALTER id TYPE text USING id::text");
    const auto add_text = [&] {
        const auto tx = store->begin();
        tx->execute({insert, {std::string("eleven")}});
        tx->commit();
    };
    EXPECT_THROW(add_text(), Error);
    add_text();
    EXPECT_EQ(rows(), "11");
}

TEST_F(PostgresTransactions, AColumnThatGrowsTakesTheLargerNumbersAtTheSecondTryAtTheLatest) {
    const auto store = open(database.url());
    for (std::int64_t id = 0; id < 10; ++id) add(*store, id);
    const std::string before = pid(*store);
    database.psql("ALTER TABLE t ALTER id TYPE bigint");
    constexpr std::int64_t large = 3'000'000'000;
    try {
        add(*store, large);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rejected);
        add(*store, large);
    }
    for (std::int64_t id = 1; id < 10; ++id) add(*store, large + id);
    EXPECT_EQ(rows(), "20");
    EXPECT_EQ(pid(*store), before);
}

TEST_F(PostgresTransactions, WhatIsRefusedToTheUserKeepsTheConnection) {
    const std::string role = "reader_of_" + database.name();
    database.psql("CREATE ROLE " + role + "; GRANT ALL ON t TO " + role +
                  "; ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (true) "
                  "WITH CHECK (id < 100)");
    const auto store = open(database.url());
    const std::string before = pid(*store);
    const auto add_as_role = [&](std::int64_t id) {
        const auto tx = store->begin();
        tx->execute({"SET LOCAL ROLE " + role, {}});
        tx->execute({insert, {id}});
        tx->commit();
    };
    for (std::int64_t id = 0; id < 5; ++id) add_as_role(id);
    EXPECT_EQ(prepared(*store), "1");
    for (std::int64_t id = 100; id < 103; ++id) EXPECT_THROW(add_as_role(id), Error);
    add_as_role(5);
    for (const char* const refused : {"EXECUTE unheard_of", "SELECT count(*) FROM t FOR UPDATE"}) {
        EXPECT_EQ(kind_of_failure(*store->begin(), {refused, {}}), ErrorKind::rejected);
    }
    EXPECT_EQ(pid(*store), before);
    EXPECT_EQ(rows(), "6");
    database.psql("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresTransactions, MoreParametersThanTheProtocolCountsAreMisuseAndCostNothing) {
    const auto store = open(database.url());
    const std::string before = pid(*store);
    const auto tx = store->begin();
    const std::vector<SqlValue> many(65'536, std::int64_t{1});
    EXPECT_EQ(kind_of_failure(*tx, {insert, many}), ErrorKind::misuse);
    EXPECT_TRUE(tx->in_transaction());
    tx->execute({insert, {std::int64_t{1}}});
    EXPECT_EQ(kind_of_failure(*tx, {insert, many}), ErrorKind::misuse);
    EXPECT_EQ(rows(), "0") << "not committed yet";
    tx->commit();
    EXPECT_EQ(rows(), "1");
    EXPECT_EQ(pid(*store), before);
}

TEST_F(PostgresTransactions, ResultsLeftUnreadOnTheHandleAreMisuseUntilTheyAreRead) {
    const auto store = open(database.url());
    const auto tx = store->begin();
    PGconn* const handle = postgres::handle(*tx);
    ASSERT_EQ(PQsendQuery(handle, "INSERT INTO t VALUES (1, 1)"), 1);
    EXPECT_EQ(kind_of_failure(*tx, {insert, {std::int64_t{2}}}), ErrorKind::misuse);
    while (PGresult* const result = PQgetResult(handle)) PQclear(result);
    ASSERT_EQ(PQenterPipelineMode(handle), 1);
    EXPECT_EQ(kind_of_failure(*tx, {insert, {std::int64_t{2}}}), ErrorKind::misuse);
    ASSERT_EQ(PQexitPipelineMode(handle), 1);
    tx->execute({insert, {std::int64_t{2}}});
    tx->commit();
    EXPECT_EQ(rows(), "2");
}

TEST_F(PostgresTransactions, NothingRunsOnAfterTheHandleHasEndedTheTransaction) {
    const auto store = open(database.url());
    const auto tx = store->begin();
    PQclear(PQexec(postgres::handle(*tx), "COMMIT"));
    EXPECT_EQ(kind_of_failure(*tx, {insert, {std::int64_t{1}}}), ErrorKind::misuse);
    tx->rollback();
    EXPECT_EQ(rows(), "0");
}

// Here the connection is to be replaced, but its server still answers.
TEST_F(PostgresTransactions, NothingRunsAloneOnAConnectionThatIsNotToBeUsedAgain) {
    const auto store = open(database.url());
    NewMessage message{.topic = "t", .payload = "p"};
    message.message_id = MessageId("m");
    const std::vector messages{message};
    {
        const auto tx = store->begin();
        store->enqueue(tx.get(), messages);
        tx->commit();
    }
    const auto tx = store->begin();
    tx->execute({"DEALLOCATE ALL", {}});
    EXPECT_THROW(store->enqueue(tx.get(), messages), Error);
    tx->execute({"ROLLBACK", {}});
    EXPECT_EQ(kind_of_failure(*tx, {insert, {std::int64_t{1}}}), ErrorKind::unavailable);
    tx->rollback();
    add(*store, 2);
    EXPECT_EQ(rows(), "1");
}

TEST_F(PostgresTransactions, TextsThatNeverComeAgainFillNothing) {
    const auto store = open(database.url());
    for (int id = 0; id < 300; ++id) {
        const auto tx = store->begin();
        tx->execute({"INSERT INTO t VALUES (" + std::to_string(id) + ", 1)", {}});
        tx->commit();
    }
    EXPECT_EQ(prepared(*store), "0");
    for (std::int64_t id = 300; id < 310; ++id) add(*store, id);
    EXPECT_EQ(prepared(*store), "1");
}

}  // namespace
}  // namespace postroom::test::own_transaction_test
