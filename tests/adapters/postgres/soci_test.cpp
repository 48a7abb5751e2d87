// SOCI on its PostgreSQL backend.
#include "postroom/adapter/soci.hpp"

#include <gmock/gmock.h>
#include <libpq-fe.h>

#include "adapters/handed_over.hpp"
#include "adapters/postgres/postgres_application.hpp"
#include "adapters/soci_application.hpp"
#include "postroom/outbox.hpp"
#include "support/error_of.hpp"

namespace postroom::test {
namespace {

// SOCI takes words of the form keyword=value only, not a URL.
std::string words_of(const std::string& url) {
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
        PQconninfoParse(url.c_str(), nullptr), &PQconninfoFree);
    std::string words;
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
        if (option->val != nullptr) words += std::string(option->keyword) + "=" + option->val + " ";
    }
    return words;
}

std::pair<std::string, std::string> connection_of(const PostgresShop& shop) {
    return {"postgresql", words_of(shop.url())};
}

INSTANTIATE_TEST_SUITE_P(
    PostgresSoci, JoinedTransaction,
    testing::Values(Library{
        "Soci", [] { return std::make_unique<SociApplication<PostgresShop>>(&connection_of); }}),
    library_name);

class SociOnPostgres : public testing::Test {
protected:
    PostgresShop shop_;
    Outbox outbox_{shop_.store()};
    soci::session session_{"postgresql", words_of(shop_.url())};
};

TEST_F(SociOnPostgres, AFailedTransactionIsNotTakenForCommitted) {
    bool committed = false;
    bool rolled_back = false;
    soci::transaction transaction(session_);
    adapter::SociTransaction tx(session_, transaction);
    outbox_.enqueue(tx, order_placed());
    tx.after_commit([&] { committed = true; });
    tx.after_rollback([&] { rolled_back = true; });
    EXPECT_THROW(session_ << "SELECT 1 / 0", soci::soci_error);
    EXPECT_THROW(tx.commit(), Error);
    EXPECT_FALSE(committed);
    EXPECT_TRUE(rolled_back);
    EXPECT_EQ(outbox_.counts().ready, 0U);
}

TEST_F(SociOnPostgres, ATransactionRunsItsCallbacksAfterTheCommit) {
    bool committed = false;
    soci::transaction transaction(session_);
    adapter::SociTransaction tx(session_, transaction);
    outbox_.enqueue(tx, order_placed());
    tx.after_commit([&] { committed = true; });
    tx.commit();
    EXPECT_TRUE(committed);
    EXPECT_EQ(outbox_.counts().ready, 1U);
}

// Only the caller knows the connection, and what he has run on it.
TEST_F(SociOnPostgres, WhatAStatementOfTheCallerRolledBackIsNotHandedOver) {
    HandedOver dispatched(shop_.store());
    for (const char* const statement : {"ROLLBACK AND CHAIN", "ROLLBACK; BEGIN", "SELECT 1"}) {
        soci::transaction transaction(session_);
        adapter::SociTransaction tx(session_, transaction);
        dispatched.enqueue(tx, statement);
        session_ << statement;
        tx.commit();
    }
    EXPECT_THAT(dispatched.handled(), testing::ElementsAre("SELECT 1"));
}

TEST_F(SociOnPostgres, ALostConnectionIsUnavailable) {
    soci::transaction transaction(session_);
    adapter::SociContext tx(session_);
    shop_.disconnect_all();
    EXPECT_EQ(error_of([&] { tx.execute({"SELECT 1", {}}); }).kind(), ErrorKind::unavailable);
}

}  // namespace
}  // namespace postroom::test
