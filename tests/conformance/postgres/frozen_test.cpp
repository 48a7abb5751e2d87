// A server that stops answering and is not gone: its machine still acknowledges every packet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postroom/backend/postgres.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/private_postgres.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

// What `act` throws while nobody answers, and that it does.
template <class Act>
ErrorKind kind_while_frozen(PrivatePostgres& postgres, const Act& act) {
    struct Frozen {
        explicit Frozen(PrivatePostgres& server) : postgres(server) { postgres.freeze(); }
        ~Frozen() { postgres.thaw(); }
        PrivatePostgres& postgres;
    };
    const Frozen frozen(postgres);
    const auto begun = std::chrono::steady_clock::now();
    try {
        act();
    } catch (const Error& error) {
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 75s);
        return error.kind();
    }
    ADD_FAILURE() << "a frozen server has answered";
    return ErrorKind::misuse;
}

class PostgresFrozen : public testing::Test {
protected:
    // With the usual patience: a slow machine is not what these tests are about.
    static std::string deployed(const std::string& url) {
        postgres::open_schema(url)->deploy();
        return url;
    }

    PrivatePostgres postgres;
    const std::string url = deployed(postgres.server().create_database());
    const std::unique_ptr<Store> store =
        postgres::open_store(url, {.connect_timeout = 5s, .statement_timeout = 4s});
    const Outbox outbox{*store};
};

TEST_F(PostgresFrozen, AClaimGivesUpAndTheNextOneWorksOnceTheServerIsBack) {
    outbox.enqueue({.topic = "t", .payload = "p"});
    // It is a transaction by itself, and may have been made.
    EXPECT_EQ(kind_while_frozen(postgres, [&] { static_cast<void>(outbox.claim_due(1)); }),
              ErrorKind::outcome_unknown);
    EXPECT_TRUE(wait_until(
        [&] {
            try {
                return !outbox.claim_due(1).empty();
            } catch (const Error&) {
                return false;
            }
        },
        120s, 100ms));
}

TEST_F(PostgresFrozen, OfACommitNobodyKnowsTheOutcome) {
    const auto tx = store->begin();
    outbox.enqueue(*tx, {.topic = "t", .payload = "p"});
    EXPECT_EQ(kind_while_frozen(postgres, [&] { tx->commit(); }), ErrorKind::outcome_unknown);
}

TEST_F(PostgresFrozen, AnEnqueueGivesUp) {
    outbox.enqueue({.topic = "t", .payload = "p"});
    EXPECT_NE(kind_while_frozen(postgres, [&] { outbox.enqueue({.topic = "t", .payload = "p"}); }),
              ErrorKind::rejected);
}

// Goal: a frozen server is told from a statement that takes its time, long before that is over.
TEST_F(PostgresFrozen, IsNoticedLongBeforeAStatementWouldBeOver) {
    const std::unique_ptr<Store> patient = postgres::open_store(url, {.statement_timeout = 10min});
    const Outbox patient_outbox(*patient);
    patient_outbox.enqueue({.topic = "t", .payload = "p"});
    kind_while_frozen(postgres, [&] { patient_outbox.enqueue({.topic = "t", .payload = "p"}); });
}

// The other way round: a server that greets others is waited for.
TEST_F(PostgresFrozen, AStatementThatTakesItsTimeIsWaitedFor) {
    const std::unique_ptr<Store> patient = postgres::open_store(url);
    const auto tx = patient->begin();
    EXPECT_EQ(tx->execute({.sql = "SELECT 'awake' FROM pg_sleep(6)"}), (SqlRows{{"awake"}}));
}

}  // namespace
}  // namespace postroom::test
