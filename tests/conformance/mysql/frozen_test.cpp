// A server that stops answering and is not gone: its machine still acknowledges every packet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postroom/backend/mysql.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/private_mariadb.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;

class MariadbFrozen : public testing::Test {
protected:
    // What `act` throws while nobody answers, and that it does.
    template <class Act>
    ErrorKind kind_while_frozen(const Act& act) {
        struct Frozen {
            explicit Frozen(const PrivateMariadb& server) : mariadb(server) { mariadb.freeze(); }
            ~Frozen() { mariadb.thaw(); }
            const PrivateMariadb& mariadb;
        };
        const Frozen frozen(mariadb);
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

    // With the usual patience: a slow disk is not what these tests are about.
    static std::string deployed(const std::string& url) {
        mysql::open_schema(url)->deploy();
        return url;
    }

    PrivateMariadb mariadb;
    const std::unique_ptr<Store> store =
        mysql::open_store(deployed(mariadb.server().url(mariadb.server().create_database())),
                          {.connect_timeout = 5s, .statement_timeout = 4s});
    const Outbox outbox{*store};
};

TEST_F(MariadbFrozen, AClaimGivesUpAndTheNextOneWorksOnceTheServerIsBack) {
    outbox.enqueue({.topic = "t", .payload = "p"});
    EXPECT_NE(kind_while_frozen([&] { static_cast<void>(outbox.claim_due(1)); }),
              ErrorKind::rejected);
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

TEST_F(MariadbFrozen, OfACommitNobodyKnowsTheOutcome) {
    const auto tx = store->begin();
    outbox.enqueue(*tx, {.topic = "t", .payload = "p"});
    EXPECT_EQ(kind_while_frozen([&] { tx->commit(); }), ErrorKind::outcome_unknown);
}

}  // namespace
}  // namespace postroom::test
