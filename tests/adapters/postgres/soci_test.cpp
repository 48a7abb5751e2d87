// SOCI on its PostgreSQL backend.
#include "postroom/adapter/soci.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "adapters/postgres/postgres_application.hpp"
#include "adapters/soci_application.hpp"
#include "postroom/outbox.hpp"

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
    NewMessage message() const {
        NewMessage out;
        out.topic = TopicName("order.placed");
        out.payload = "{}";
        return out;
    }

    PostgresShop shop_;
    Outbox outbox_{shop_.store()};
    soci::session session_{"postgresql", words_of(shop_.url())};
};

TEST_F(SociOnPostgres, AFailedTransactionIsNotTakenForCommitted) {
    bool committed = false;
    bool rolled_back = false;
    soci::transaction transaction(session_);
    adapter::SociTransaction tx(session_, transaction);
    outbox_.enqueue(tx, message());
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
    outbox_.enqueue(tx, message());
    tx.after_commit([&] { committed = true; });
    tx.commit();
    EXPECT_TRUE(committed);
    EXPECT_EQ(outbox_.counts().ready, 1U);
}

TEST_F(SociOnPostgres, ALostConnectionIsUnavailable) {
    soci::transaction transaction(session_);
    adapter::SociContext tx(session_);
    shop_.disconnect_all();
    try {
        tx.execute({"SELECT 1", {}});
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
    }
}

}  // namespace
}  // namespace postroom::test
