// The settings of the relay reach what they are about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <csignal>

#include "postroom/inbox.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "program/e2e_peers.hpp"
#include "support/postgres_server.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::relay_settings_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::seconds patience{90};

// A relay with one SQLite file, and what the library says of it.
class RelaySettings : public testing::Test {
protected:
    void configure(const std::string& settings) {
        folder.write("postroom.toml", "[stores.main]\nurl = \"sqlite:main.db\"\n" + settings);
        folder.good({"migrate", "up"});
        store = open_store("sqlite:" + (folder / "main.db").string());
    }
    WorkItemId enqueue(const std::string& topic) const {
        return Outbox(*store).enqueue({.topic = topic, .payload = "1"}).id;
    }
    Message get(WorkItemId id) const { return store->find(Queue::outbox, {.ids = {id}}).at(0); }
    template <class Condition>
    static void expect_soon(const Condition& condition) {
        EXPECT_TRUE(wait_until(condition, patience));
    }
    static void stop(ChildProcess& relay) {
        relay.kill(SIGTERM);
        EXPECT_TRUE(relay.wait(patience).has_value());
    }
    static std::string http_sink(const HttpPeer& peer) {
        return fmt::format(
            "[sinks.hook]\ntype = \"http\"\nurl = \"http://127.0.0.1:{}/\"\n"
            "allow_networks = [\"127.0.0.1\"]\n",
            peer.port());
    }

    ProgramFolder folder;
    std::unique_ptr<Store> store;
};

TEST_F(RelaySettings, O6_ARouteIsRetriedByItsOwnPolicyAndErrorsAreCut) {
    const HttpPeer peer{500};
    configure("max_error_chars = 20\n[relay]\nretry_base = \"1h\"\nretry_cap = \"2h\"\n" +
              http_sink(peer) +
              "[[routes]]\ntopic = \"once.*\"\nsink = \"hook\"\nmax_attempts = 1\n"
              "[[routes]]\ntopic = \"*\"\nsink = \"hook\"\n");
    const WorkItemId once = enqueue("once.only");
    const WorkItemId again = enqueue("again");
    ChildProcess relay = folder.start({"relay"});
    expect_soon([&] { return get(once).state == State::dead && get(again).retry_count == 1; });
    stop(relay);
    EXPECT_EQ(get(once).dead_reason, DeadReason::max_attempts);
    EXPECT_EQ(get(once).retry_count, 1U);
    EXPECT_EQ(get(again).state, State::ready);
    EXPECT_GT(get(again).available_at, store->now() + 20min);
    EXPECT_EQ(get(again).last_error.size(), 20U) << get(again).last_error;
}

TEST_F(RelaySettings, O6_ASinkIsRetriedByItsOwnPolicyUnlessARouteHasOne) {
    const HttpPeer peer{500};
    configure("[relay]\nretry_base = \"1h\"\nretry_cap = \"2h\"\n" + http_sink(peer) +
              "max_attempts = 1\n"
              "[[routes]]\ntopic = \"twice.*\"\nsink = \"hook\"\nmax_attempts = 2\n"
              "[[routes]]\ntopic = \"*\"\nsink = \"hook\"\n");
    const WorkItemId once = enqueue("once");
    const WorkItemId twice = enqueue("twice.only");
    ChildProcess relay = folder.start({"relay"});
    expect_soon([&] { return get(once).state == State::dead && get(twice).retry_count == 1; });
    stop(relay);
    EXPECT_EQ(get(once).retry_count, 1U);
    EXPECT_EQ(get(twice).state, State::ready);
    EXPECT_GT(get(twice).available_at, store->now() + 20min) << "the base is the relay's";
}

// Without wake-ups: a store that is quiet, and says so, is cleaned up minutes later.
TEST_F(RelaySettings, IBX_098_ARelayPurgesTheInboxAndTheDeadAfterTheirRetention) {
    configure("[relay]\nwake_ups = false\ninbox_retention = \"1ms\"\ndead_retention = \"1ms\"\n");
    const Inbox inbox(*store);
    inbox.enqueue({.topic = "t", .source = "s", .message_id = "m", .payload = "p"});
    inbox.mark_processed({.source = "s", .message_id = "m"});
    enqueue("t");
    const Outbox outbox(*store);
    outbox.fail(outbox.claim_due(1), "no");
    ASSERT_EQ(store->find(Queue::outbox, {.state = State::dead}).size(), 1U);
    ChildProcess relay = folder.start({"relay"});
    expect_soon([&] {
        return store->find(Queue::inbox, {}).empty() &&
               store->find(Queue::outbox, {.state = State::dead}).empty();
    });
    stop(relay);
}

TEST(RelayWakeUps, S002_ARelayListensUnlessItIsToldNotTo) {
    const PostgresDatabase database;
    ProgramFolder folder;
    folder.set("POSTROOM_URL", database.url());
    folder.good({"migrate", "up"});
    const auto listeners = [&] {
        return database
            .psql(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                "query LIKE '%LISTEN postroom%' AND pid <> pg_backend_pid()")
            .at(0)
            .at(0)
            .value();
    };
    for (const std::string wake_ups : {"true", "false"}) {
        ChildProcess relay = folder.start({"relay", "--set", "relay.wake_ups=" + wake_ups});
        folder.good({"enqueue", "order.placed", "--payload", wake_ups});
        EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("\"payload\":" + wake_ups));
        if (wake_ups == "true")
            EXPECT_TRUE(wait_until([&] { return listeners() == "1"; }, patience));
        else
            EXPECT_EQ(listeners(), "0");
        relay.kill(SIGTERM);
        EXPECT_TRUE(relay.wait(patience).has_value());
        // The server may be a moment later than the relay.
        EXPECT_TRUE(wait_until([&] { return listeners() == "0"; }, patience));
    }
}

}  // namespace
}  // namespace postroom::test::relay_settings_test
