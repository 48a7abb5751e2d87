// The relay as a process: what it delivers, and how it stops and reloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "postroom/handler.hpp"
#include "program/program.hpp"
#include "support/matchers.hpp"
#include "support/postgres_server.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::relay_test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds patience = 90s;

void expect_log(const ProgramFolder& folder, const std::string& part, std::size_t times = 1) {
    EXPECT_TRUE(wait_until([&] { return count_of(folder.read("err"), part) >= times; }, patience))
        << part << " in " << folder.read("err");
}

void expect_clean_stop(ChildProcess& relay, int signal = SIGTERM) {
    relay.kill(signal);
    const std::optional<ExitStatus> status = relay.wait(patience);
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->success());
}

TEST(Relay, WithoutAnyConfigDeliversAFileToStandardOutput) {
    const ProgramFolder folder;
    ChildProcess relay = folder.start({"relay"});
    expect_log(folder, "\"event\":\"RELAY_READY\",\"stores\":1");
    folder.good({"enqueue", "order.placed", "--payload", "{\"order\":17}"});
    EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("\"payload\":{\"order\":17}"));
    expect_clean_stop(relay);
    EXPECT_THAT(folder.good({"status", "--queue", "outbox", "--json"}),
                HasSubstr("\"ready\":0,\"in_progress\":0"));
}

TEST(Relay, DeliversAPostgresOutboxThatAnybodyWrites) {
    const PostgresDatabase database;
    ProgramFolder folder;
    folder.set("POSTROOM_URL", database.url());
    folder.good({"migrate", "up"});
    ChildProcess relay = folder.start({"relay"});
    expect_log(folder, "RELAY_READY");
    database.psql("SELECT infra.outbox_enqueue('order.placed', '{\"order\":18}')");
    EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("\"order\":18"));
    expect_clean_stop(relay, SIGINT);
}

TEST(Relay, RoutesTopicsOfSeveralStoresByPattern) {
    ProgramFolder folder;
    folder.write("postroom.toml", R"([stores.north]
url = "sqlite:north.db"
[stores.south]
url = "sqlite:south.db"
[sinks.orders]
type = "stdout"
path = "orders.jsonl"
[sinks.rest]
type = "stdout"
path = "rest.jsonl"
[[routes]]
topic = "order.*"
sink = "orders"
[[routes]]
topic = "*"
sink = "rest"
)");
    folder.good({"migrate", "up"});
    for (const std::string store : {"north", "south"}) {
        for (const std::string topic : {"order.placed", "order.paid", "mail"})
            folder.good({"enqueue", topic, "--payload", "1", "--store", store});
    }
    ChildProcess relay = folder.start({"relay"});
    EXPECT_TRUE(wait_until(
        [&] {
            return count_of(folder.read("rest.jsonl"), "\n") == 2 &&
                   count_of(folder.read("orders.jsonl"), "\n") == 4;
        },
        patience));
    expect_clean_stop(relay);
    EXPECT_EQ(count_of(folder.read("orders.jsonl"), "\"topic\":\"order."), 4U);
    EXPECT_EQ(count_of(folder.read("rest.jsonl"), "\"topic\":\"mail\""), 2U);
}

TEST(Relay, S002_OnceDeliversWhatIsDueAndEnds) {
    const ProgramFolder folder;
    for (const std::string key : {"a", "a", "b"})
        folder.good({"enqueue", "order.placed", "--payload", "1", "--ordering-key", key});
    folder.good({"enqueue", "later", "--payload", "2", "--due-time", "2099-01-01T00:00:00Z"});
    const Ran ran = folder.run({"relay", "--once"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(count_of(ran.out, "\"topic\":\"order.placed\""), 3U);
    EXPECT_EQ(count_of(ran.out, "\"topic\":\"later\""), 0U);
    EXPECT_THAT(ran.err, HasSubstr("\"event\":\"RELAY_ONCE\",\"delivered\":3,\"left\":0"));
    EXPECT_EQ(folder.run({"relay", "--once"}).out, "");
}

TEST(Relay, S002_OnceSaysByItsExitCodeThatSomethingIsLeft) {
    const ProgramFolder folder;
    folder.write("postroom.toml", "[sinks.file]\ntype = \"stdout\"\npath = \"later/out.jsonl\"\n");
    folder.good({"migrate", "up"});
    folder.good({"enqueue", "a", "--payload", "1"});
    const Ran ran = folder.run({"relay", "--once"});
    EXPECT_EQ(ran.code, 8) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("\"delivered\":0,\"left\":"));
    EXPECT_EQ(folder.run({"relay", "--once", "--every", "1s"}).code, 2);
    EXPECT_EQ(folder.run({"relay", "--every", "soon"}).code, 2);
}

TEST(Relay, S002_EveryComesAgainUntilItIsStopped) {
    const ProgramFolder folder;
    folder.good({"migrate", "up"});
    ChildProcess relay = folder.start({"relay", "--every", "200ms"});
    for (const std::string order : {"17", "18"}) {
        folder.good({"enqueue", "order.placed", "--payload", order});
        EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("\"payload\":" + order));
    }
    expect_clean_stop(relay);
}

TEST(Relay, O6_ARouteHasARetryPolicyOfItsOwn) {
    const ProgramFolder folder;
    folder.write("postroom.toml", R"([relay]
retry_base = "1h"
retry_cap = "2h"
[sinks.hook]
type = "http"
url = "http://127.0.0.1:9/"
unanswered_max = 1
[[routes]]
topic = "once.*"
sink = "hook"
max_attempts = 1
[[routes]]
topic = "*"
sink = "hook"
retry_jitter = 0.25
)");
    const std::string shown = folder.good({"config", "show"});
    for (const std::string line :
         {"relay.retry_base +1h", "routes.0.max_attempts +1", "routes.1.retry_jitter +0.25"})
        EXPECT_THAT(shown, testing::ContainsRegex(line));
}

TEST(Relay, ADestinationThatIsDownCostsNoAttempt) {
    ProgramFolder folder;
    folder.write("postroom.toml", "[sinks.file]\ntype = \"stdout\"\npath = \"later/out.jsonl\"\n");
    folder.good({"migrate", "up"});
    const std::string id =
        text_member(folder.good({"enqueue", "a", "--payload", "1", "--json"}), "id");
    ChildProcess relay = folder.start({"relay"});
    expect_log(folder, "OUTBOX_WORKER_CIRCUIT_OPEN");
    std::filesystem::create_directory(folder / "later");
    EXPECT_TRUE(
        wait_until([&] { return count_of(folder.read("later/out.jsonl"), "\n") == 1; }, patience));
    expect_log(folder, "OUTBOX_WORKER_DISPATCH_SUCCESS");
    expect_clean_stop(relay);
    EXPECT_THAT(folder.good({"show", id, "--json"}), HasSubstr("\"retry_count\":0"));
    EXPECT_THAT(folder.read("err"), Not(HasSubstr("OUTBOX_WORKER_DISPATCH_FAIL")));
}

TEST(Relay, ReloadTakesAGoodConfigAndRefusesABadOne) {
    ProgramFolder folder;
    const std::string config = "[sinks.file]\ntype = \"stdout\"\npath = \"";
    folder.write("postroom.toml", config + "one.jsonl\"\n");
    ChildProcess relay = folder.start({"relay"});
    expect_log(folder, "RELAY_READY");
    folder.good({"enqueue", "a", "--payload", "1"});
    EXPECT_TRUE(
        wait_until([&] { return count_of(folder.read("one.jsonl"), "\n") == 1; }, patience));

    folder.write("postroom.toml", "[relay]\nbtach = 1\n");
    relay.kill(SIGHUP);
    expect_log(folder, "RELAY_RELOAD_REFUSED");
    EXPECT_THAT(folder.read("err"), HasSubstr("did you mean 'relay.batch'?"));
    folder.write("postroom.toml", config + "one.jsonl\"\n");
    folder.good({"enqueue", "a", "--payload", "2"});
    EXPECT_TRUE(
        wait_until([&] { return count_of(folder.read("one.jsonl"), "\n") == 2; }, patience));

    folder.write("postroom.toml", config + "two.jsonl\"\n");
    relay.kill(SIGHUP);
    expect_log(folder, "RELAY_RELOADED");
    folder.good({"enqueue", "a", "--payload", "3"});
    EXPECT_TRUE(
        wait_until([&] { return count_of(folder.read("two.jsonl"), "\n") == 1; }, patience));
    expect_clean_stop(relay);
    EXPECT_EQ(count_of(folder.read("one.jsonl"), "\n"), 2U);
}

TEST(Relay, AStopUnderLoadLosesNothingAndLeavesNoLease) {
    ProgramFolder folder;
    folder.write("postroom.toml", "[sinks.file]\ntype = \"stdout\"\npath = \"out.jsonl\"\n");
    std::string lines;
    for (int i = 0; i < 2000; ++i)
        lines += R"({"topic":"bulk","payload":1})"
                 "\n";
    folder.good({"migrate", "up"});
    folder.good({"enqueue", "--jsonl"}, lines);
    {
        ChildProcess relay = folder.start({"relay", "--set", "log.per_message=false"});
        EXPECT_TRUE(
            wait_until([&] { return count_of(folder.read("out.jsonl"), "\n") > 0; }, patience));
        expect_clean_stop(relay);
    }
    EXPECT_THAT(folder.good({"status", "--queue", "outbox", "--json"}),
                HasSubstr("\"in_progress\":0"));
    ChildProcess relay = folder.start({"relay", "--set", "log.per_message=false"});
    EXPECT_TRUE(
        wait_until([&] { return count_of(folder.read("out.jsonl"), "\n") >= 2000; }, patience));
    expect_clean_stop(relay);
    EXPECT_EQ(count_of(folder.read("out.jsonl"), "\n"), 2000U)
        << "a clean stop delivers none twice";
}

TEST(Relay, PayloadsAndSecretsAreNotInItsLog) {
    const PostgresDatabase database;
    ProgramFolder folder;
    const std::size_t slashes = database.url().find("://") + 3;
    const std::size_t at = database.url().find('@');
    ASSERT_NE(at, std::string::npos);
    const std::string user = database.url().substr(slashes, at - slashes);
    // The server trusts local users and does not look at the password.
    folder.set("POSTROOM_URL", "postgresql://" + user + ":hush" + database.url().substr(at));
    folder.good({"migrate", "up"});
    ChildProcess relay = folder.start({"relay", "--set", "log.level=debug", "--set",
                                       "routes.0.topic=good*", "--set", "routes.0.sink=stdout"});
    folder.good({"enqueue", "--jsonl"},
                R"({"topic":"good","payload":"hush","headers":{"token":"hush"}})"
                "\n"
                R"({"topic":"bad","payload":"hush","headers":{"token":"hush"}})");
    expect_log(folder, "OUTBOX_WORKER_DISPATCH_SUCCESS");
    expect_log(folder, "OUTBOX_WORKER_UNROUTABLE");
    expect_clean_stop(relay);
    EXPECT_THAT(folder.read("err"), Not(HasSubstr("hush")));
    EXPECT_THAT(folder.good({"list", "--state", "all"}) +
                    folder.good({"list", "--state", "all", "--json"}) + folder.run({"doctor"}).out,
                Not(HasSubstr("hush")));
}

// Goal: a sink with a rate gets no more than that, by all its routes and from all stores together,
// and nobody else waits for it; stopping neither.
// Method: one message in 1,000 seconds; the second would have to wait for longer than the test.
TEST(Relay, ASinkGetsNoMoreThanItsRateAndNobodyWaitsForIt) {
    ProgramFolder folder;
    folder.write("postroom.toml", R"([stores.north]
url = "sqlite:north.db"
[stores.south]
url = "sqlite:south.db"
[sinks.slow]
type = "stdout"
path = "slow.jsonl"
rate = 0.001
[sinks.rest]
type = "stdout"
path = "rest.jsonl"
[[routes]]
topic = "order.*"
sink = "slow"
[[routes]]
topic = "invoice.*"
sink = "slow"
[[routes]]
topic = "*"
sink = "rest"
)");
    folder.good({"migrate", "up"});
    for (const std::string store : {"north", "south"}) {
        for (const std::string topic : {"order.placed", "invoice.sent", "mail"})
            folder.good({"enqueue", topic, "--payload", "1", "--store", store});
    }
    ChildProcess relay = folder.start({"relay", "--set", "log.level=debug"});
    EXPECT_TRUE(
        wait_until([&] { return count_of(folder.read("rest.jsonl"), "\n") == 2; }, patience));
    expect_log(folder, "it waits for its turn: its rate is 0.001 messages a second", 3);
    expect_clean_stop(relay);
    EXPECT_EQ(count_of(folder.read("slow.jsonl"), "\n"), 1U);
    const std::string left = folder.good({"list", "--store", "north", "--json"}) +
                             folder.good({"list", "--store", "south", "--json"});
    EXPECT_EQ(count_of(left, "\"state\":\"ready\""), 3U) << left;
    EXPECT_EQ(count_of(left, "\"retry_count\":0"), 3U) << left;
}

TEST(RoutesOnMatching, TheFirstPatternThatMatchesCountsBehindExactRoutes) {
    Routes routes;
    const auto handler = [](std::span<const Message>, HandlerContext&) {
        return std::vector<Verdict>{};
    };
    routes.on_matching("order.*", 1, handler, "orders").on_matching("*ed", 2, handler);
    routes.on_batch("order.exact", 3, handler);
    const auto found = [&routes](const std::string& topic) {
        const Routes::Route* const route = routes.find("any", topic);
        return route == nullptr ? 0U : route->batch_max;
    };
    EXPECT_EQ(found("order.placed"), 1U);
    EXPECT_EQ(found("order."), 1U);
    EXPECT_EQ(found("order"), 0U);
    EXPECT_EQ(found("paid.and.shipped"), 2U);
    EXPECT_EQ(found("edges"), 0U);
    EXPECT_EQ(routes.find("__GLOBAL__", "order.exact")->batch_max, 3U);
    ASSERT_NE(routes.destination("order.placed"), nullptr);
    EXPECT_EQ(*routes.destination("order.placed"), "orders");
    EXPECT_EQ(routes.destination("shipped"), nullptr);
    EXPECT_THROW(routes.on_matching("", 1, handler), std::invalid_argument);
    EXPECT_THROW(routes.on_matching("a", 0, handler), std::invalid_argument);
}

}  // namespace
}  // namespace postroom::test::relay_test
