// libpqxx.
#include "postroom/adapter/pqxx.hpp"

#include <gmock/gmock.h>

#include <optional>

#include "adapters/handed_over.hpp"
#include "adapters/postgres/postgres_application.hpp"
#include "postroom/outbox.hpp"
#include "support/error_of.hpp"

namespace postroom::test {
namespace {

class PqxxApplication final : public Application {
public:
    Store& store() override { return shop_.store(); }
    void begin() override {
        context_.reset();
        idle_.reset();
        work_.reset();
        work_.emplace(connection_);
        context_.emplace(*work_);
    }
    void commit() override { work_->commit(); }
    void rollback() override { work_->abort(); }
    void place_order(const std::string& name) override {
        work_->exec_params("INSERT INTO orders VALUES ($1)", name);
    }
    TxContext& context() override {
        if (!context_) context_.emplace(idle_.emplace(connection_));
        return *context_;
    }
    std::size_t orders() override { return shop_.orders(); }

private:
    PostgresShop shop_;
    pqxx::connection connection_{shop_.url()};
    std::optional<pqxx::work> work_;
    std::optional<pqxx::nontransaction> idle_;
    std::optional<adapter::PqxxContext> context_;
};

INSTANTIATE_TEST_SUITE_P(PostgresPqxx, JoinedTransaction,
                         testing::Values(Library{
                             "Pqxx", [] { return std::make_unique<PqxxApplication>(); }}),
                         library_name);

class Pqxx : public testing::Test {
protected:
    PostgresShop shop_;
    Outbox outbox_{shop_.store()};
    pqxx::connection connection_{shop_.url()};
};

TEST_F(Pqxx, ATransactionRunsItsCallbacksAfterTheCommit) {
    bool committed = false;
    bool rolled_back = false;
    // [pqxx-transaction]
    pqxx::work work(connection_);
    adapter::PqxxTransaction tx(work);
    work.exec("INSERT INTO orders VALUES ('first')");
    outbox_.enqueue(tx, order_placed());
    tx.after_commit([&] { committed = true; });
    tx.after_rollback([&] { rolled_back = true; });
    tx.commit();
    // [pqxx-transaction]
    EXPECT_TRUE(committed);
    EXPECT_FALSE(rolled_back);
    EXPECT_FALSE(tx.in_transaction());
    EXPECT_EQ(shop_.orders(), 1U);
    EXPECT_EQ(outbox_.counts().ready, 1U);
}

TEST_F(Pqxx, ATransactionThatIsLeftRollsBack) {
    bool rolled_back = false;
    {
        pqxx::work work(connection_);
        adapter::PqxxTransaction tx(work);
        outbox_.enqueue(tx, order_placed());
        tx.after_rollback([&] { rolled_back = true; });
    }
    EXPECT_TRUE(rolled_back);
    EXPECT_EQ(outbox_.counts().ready, 0U);
}

TEST_F(Pqxx, AFailedTransactionIsNotTakenForCommitted) {
    bool committed = false;
    bool rolled_back = false;
    pqxx::work work(connection_);
    adapter::PqxxTransaction tx(work);
    outbox_.enqueue(tx, order_placed());
    tx.after_commit([&] { committed = true; });
    tx.after_rollback([&] { rolled_back = true; });
    EXPECT_THROW(work.exec_params("SELECT 1 / $1::int", 0), pqxx::sql_error);
    EXPECT_THROW(tx.commit(), Error);
    EXPECT_FALSE(committed);
    EXPECT_TRUE(rolled_back);
    EXPECT_EQ(outbox_.counts().ready, 0U);
}

TEST_F(Pqxx, ASubtransactionCanBeUndoneAlone) {
    pqxx::work work(connection_);
    {
        pqxx::subtransaction part(work);
        adapter::PqxxContext tx(part);
        outbox_.enqueue(tx, order_placed());
        part.abort();
    }
    adapter::PqxxContext tx(work);
    const EnqueueResult kept = outbox_.enqueue(tx, order_placed());
    work.commit();
    EXPECT_EQ(outbox_.counts().ready, 1U);
    EXPECT_TRUE(outbox_.get(kept.id).has_value());
}

// Only the caller knows the connection, and what he has run on it.
TEST_F(Pqxx, WhatAStatementOfTheCallerRolledBackIsNotHandedOver) {
    HandedOver dispatched(shop_.store());
    for (const char* const statement :
         {"ROLLBACK", "ROLLBACK AND CHAIN", "ROLLBACK; BEGIN", "SELECT 1"}) {
        pqxx::work work(connection_);
        adapter::PqxxTransaction tx(work);
        dispatched.enqueue(tx, statement);
        work.exec(statement);
        tx.commit();
    }
    EXPECT_THAT(dispatched.handled(), testing::ElementsAre("SELECT 1"));
}

TEST_F(Pqxx, ALostConnectionIsUnavailable) {
    pqxx::work work(connection_);
    adapter::PqxxContext tx(work);
    shop_.disconnect_all();
    EXPECT_EQ(error_of([&] { tx.execute({"SELECT 1", {}}); }).kind(), ErrorKind::unavailable);
}

TEST_F(Pqxx, ASerializationFailureIsAConflict) {
    pqxx::work work(connection_);
    adapter::PqxxContext tx(work);
    try {
        tx.execute({"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$", {}});
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::conflict) << error.what();
        EXPECT_THROW(std::rethrow_if_nested(error), pqxx::serialization_failure);
    }
}

}  // namespace
}  // namespace postroom::test
