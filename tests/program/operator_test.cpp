// What an operator does with messages and topics, seen by relays that run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "program/mute_server.hpp"
#include "program/program_on.hpp"
#include "support/matchers.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::operator_test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds patience = 90s;

class OperatorOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.good({"migrate", "up"});
    }
};

TEST_P(OperatorOn, DeadMessagesAreDiscardedByIdAndLeaveALineInTheHistory) {
    const std::string dead = enqueue_dead("order.placed");
    const std::string ready = enqueue("order.placed");
    EXPECT_EQ(folder.good({"discard", dead, "--dry-run"}), "would discard 1 message\n");
    EXPECT_THAT(folder.good({"explain", dead}), HasSubstr("dead (failed)"));
    EXPECT_EQ(folder.good({"discard", dead}), "1 message discarded\n");
    EXPECT_THAT(folder.good({"explain", dead}), HasSubstr("discarded by an operator at"));
    EXPECT_THAT(folder.good({"show", dead, "--json"}), HasSubstr("\"discarded\":true"));
    EXPECT_THAT(folder.good({"list", "--state", "done"}), HasSubstr("(discarded)"));
    EXPECT_EQ(listed({"--state", "ready"}), 1U) << "the other stays";
    // A second time, among others that could be: nothing is done at all.
    const Ran again = folder.run({"discard", ready, dead});
    EXPECT_EQ(again.code, 1);
    EXPECT_THAT(again.err, HasSubstr("is done, not dead or ready; nothing was done"));
    EXPECT_EQ(listed({"--state", "ready"}), 1U);
    EXPECT_EQ(folder.good({"discard", ready}), "1 message discarded\n");
    EXPECT_EQ(folder.good({"purge", "--older-than", "0", "--yes"}), "2 messages purged\n");
    EXPECT_EQ(listed(), 0U);
}

TEST_P(OperatorOn, ReadyMessagesOfATopicAreDiscardedWithoutTheOthers) {
    enqueue("junk");
    enqueue("junk", {"--due-time", "2999-01-01T00:00:00Z"});
    enqueue("junk", {"--ordering-key", "k"});
    const std::string kept = enqueue("order.placed", {"--ordering-key", "k"});
    EXPECT_THAT(folder.good({"explain", kept}), HasSubstr("held back"));
    EXPECT_EQ(folder.good({"discard", "--topic", "junk", "--yes"}), "0 messages discarded\n")
        << "without --state only dead ones are meant";
    EXPECT_EQ(folder.good({"discard", "--topic", "junk", "--state", "ready", "--json", "--yes"}),
              "{\"matched\":3,\"discarded\":3,\"dry_run\":false}\n");
    EXPECT_EQ(listed({"--state", "ready"}), 1U);
    // The key goes on behind the discarded one.
    ChildProcess relay = folder.start({"relay"});
    EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("order.placed"));
    EXPECT_TRUE(stop(relay));
    EXPECT_EQ(folder.run({"discard"}).code, 2);
    // A variable that was not set must not mean everything.
    enqueue_dead("order.placed");
    for (const std::string verb : {"discard", "redrive"}) {
        for (const std::string filter : {"--topic", "--error"}) {
            const Ran ran = folder.run({verb, filter, ""});
            EXPECT_EQ(ran.code, 2);
            EXPECT_THAT(ran.err, HasSubstr(filter + " must not be empty"));
        }
    }
    EXPECT_EQ(listed({"--state", "dead"}), 1U);
    EXPECT_EQ(folder.run({"discard", "--all", "--state", "done"}).code, 2);
}

// Whoever changes a message leases it first: what a relay holds cannot be discarded. The relay
// writes into a pipe, so that it gets on only as far as somebody reads.
TEST_P(OperatorOn, AMessageIsEitherDeliveredOrDiscardedWhileARelayRuns) {
    constexpr std::size_t total = 400;
    const std::string large(1000, 'x');
    std::string lines;
    for (std::size_t i = 0; i < total; ++i)
        lines += R"({"topic":"bulk","payload":")" + large + "\"}\n";
    folder.good({"enqueue", "--jsonl"}, lines);
    ChildProcess relay = folder.start({"relay", "--set", "relay.batch=5", "--set",
                                       "relay.capacity=10", "--set", "log.per_message=false"});
    std::size_t delivered = 0;
    const auto read_one = [&] { delivered += relay.read_line(patience) ? 1 : 0; };
    read_one();
    ChildProcess discard = folder.start({"discard", "--all", "--state", "ready", "--yes"});
    while (discard.running() && delivered < total / 2) {
        if (relay.read_line(5ms)) ++delivered;
    }
    const std::optional<ExitStatus> status = discard.wait(patience);
    ASSERT_TRUE(status && status->success());
    const std::string told = discard.read_all(patience);
    const std::size_t discarded =
        count_of(folder.good({"list", "--state", "all", "--limit", "10000", "--json"}),
                 "\"discarded\":true");
    EXPECT_EQ(told, std::to_string(discarded) + " messages discarded\n");
    EXPECT_GT(delivered, 0U);
    EXPECT_GT(discarded, 0U);
    EXPECT_LT(discarded, total);
    while (delivered + discarded < total) {
        const std::size_t before = delivered;
        read_one();
        ASSERT_GT(delivered, before) << "a message is missing";
    }
    EXPECT_TRUE(wait_until([&] { return listed({"--state", "done"}) == total; }, patience, 200ms));
    EXPECT_TRUE(stop(relay));
    EXPECT_EQ(relay.read_all(patience), "") << "delivered, though it was discarded";
}

TEST_P(OperatorOn, APauseIsSeenByEveryRelayAndEndsForAll) {
    folder.set("POSTROOM_RELAY__HOLD_DELAY", "300ms");
    ChildProcess first = folder.start({"relay"});
    ASSERT_TRUE(wait_for_log("RELAY_READY"));
    EXPECT_EQ(folder.good({"pause", "slow", "--dry-run"}), "main: 'slow' would be paused\n");
    EXPECT_EQ(folder.good({"pause", "slow"}), "main: 'slow' is paused\n");
    EXPECT_EQ(folder.good({"pause", "slow"}), "main: 'slow' is paused already\n");
    EXPECT_TRUE(
        wait_for_log("\"event\":\"RELAY_TOPIC_PAUSED\",\"store\":\"main\",\"topic\":\"slow\""));

    const std::string held = enqueue("slow");
    enqueue("fast");
    EXPECT_THAT(first.read_line(patience).value_or(""), HasSubstr("\"topic\":\"fast\""));
    EXPECT_TRUE(stop(first));
    EXPECT_THAT(folder.good({"status"}), HasSubstr("main: topic 'slow' has been paused for"));
    EXPECT_THAT(folder.good({"status", "--json"}), HasSubstr("\"paused\":[{\"topic\":\"slow\""));
    EXPECT_THAT(folder.good({"explain", held}), HasSubstr("topic has been paused since"));
    EXPECT_THAT(folder.good({"list", "--topic", "slow"}), HasSubstr("(topic is paused)"));
    EXPECT_THAT(folder.good({"show", held, "--json"}), HasSubstr("\"retry_count\":0"));

    // One that is started later knows it before its first message.
    ChildProcess second = folder.start({"relay"});
    enqueue("fast");
    EXPECT_THAT(second.read_line(patience).value_or(""), HasSubstr("\"topic\":\"fast\""));
    EXPECT_EQ(folder.good({"resume", "slow", "--json"}),
              "[{\"store\":\"main\",\"topic\":\"slow\",\"paused\":false,\"changed\":true,"
              "\"dry_run\":false}]\n");
    EXPECT_THAT(second.read_line(patience).value_or(""), HasSubstr("\"topic\":\"slow\""));
    EXPECT_TRUE(wait_for_log("RELAY_TOPIC_RESUMED"));
    EXPECT_TRUE(stop(second));
    EXPECT_EQ(folder.good({"resume", "slow"}), "main: 'slow' is not paused\n");
    EXPECT_THAT(folder.good({"status"}), Not(HasSubstr("is paused")));
    const Ran empty = folder.run({"pause", std::string(300, 'x')});
    EXPECT_EQ(empty.code, 7);
    EXPECT_THAT(empty.err, HasSubstr("topic"));
}

// Goal: a pattern holds back what matches it and nothing else, in a relay that runs, until it is
// resumed.
// Method: behind the message that is held come others that are not. Claims go by number, so when
// those are delivered, the relay has had the first in its hands.
TEST_P(OperatorOn, APausedPatternHoldsItsTopicsAndNoOthersInARelayThatRuns) {
    folder.set("POSTROOM_RELAY__HOLD_DELAY", "300ms");
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(wait_for_log("RELAY_READY"));
    EXPECT_EQ(folder.good({"pause", "order.*"}), "main: 'order.*' is paused\n");
    ASSERT_TRUE(
        wait_for_log("\"event\":\"RELAY_TOPIC_PAUSED\",\"store\":\"main\",\"topic\":\"order.*\""));

    enqueue("order.placed");
    for (const std::size_t delivered : {1U, 2U}) {
        enqueue("mail.welcome");
        EXPECT_THAT(relay.read_line(patience).value_or(""),
                    HasSubstr("\"topic\":\"mail.welcome\""));
        EXPECT_TRUE(wait_until(
            [&] {
                return listed({"--state", "done"}) >= delivered;
            },
            patience, 50ms));
    }
    EXPECT_EQ(listed({"--topic", "order.placed", "--state", "done"}), 0U);

    EXPECT_EQ(folder.good({"resume", "order.*"}), "main: 'order.*' is resumed\n");
    EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("\"topic\":\"order.placed\""));
    EXPECT_TRUE(stop(relay));
    EXPECT_EQ(relay.read_all(patience), "") << "each is delivered once";
}

POSTROOM_ON_ALL_DATABASES(OperatorOn);

TEST(OperatorOnStores, APauseIsOfItsStoreAlone) {
    ProgramFolder folder;
    folder.write("postroom.toml",
                 "[stores.north]\nurl = \"sqlite:n.db\"\n[stores.south]\nurl = \"sqlite:s.db\"\n"
                 "[relay]\nhold_delay = \"300ms\"\n");
    folder.good({"migrate", "up"});
    folder.good({"pause", "a", "--store", "north"});
    for (const std::string store : {"north", "south"})
        folder.good({"enqueue", "a", "--payload", "\"" + store + "\"", "--store", store});
    ChildProcess relay = folder.start({"relay"});
    EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("\"payload\":\"south\""));
    folder.good({"resume", "a"});
    EXPECT_THAT(relay.read_line(patience).value_or(""), HasSubstr("\"payload\":\"north\""));
    relay.kill(SIGTERM);
    ASSERT_TRUE(relay.wait(patience));
}

constexpr const char* one_of_two_is_down =
    "[stores.north]\nurl = \"sqlite:n.db\"\n"
    "[stores.south]\nurl = \"postgresql://app@127.0.0.1:9/shop\"\n";

TEST(OperatorOnStores, StatusTellsOfAllWhenOneCannotBeReached) {
    ProgramFolder folder;
    folder.write("postroom.toml", one_of_two_is_down);
    EXPECT_EQ(folder.run({"migrate", "up", "--store", "north"}).code, 0);
    const Ran ran = folder.run({"status"});
    EXPECT_EQ(ran.code, 3);
    EXPECT_THAT(ran.out, AllOf(HasSubstr("north"), HasSubstr("inbox"),
                               HasSubstr("\nunreachable: store 'south': ")));
    EXPECT_THAT(
        folder.run({"status", "--json"}).out,
        AllOf(HasSubstr("\"queue\":\"inbox\""), HasSubstr("\"store\":\"south\",\"error\":")));
    EXPECT_EQ(folder.run({"status", "--store", "south"}).code, 3);
}

TEST(OperatorOnStores, ARelayIsNotReadyWhileAStoreOfItsPlanWasNeverReached) {
    ProgramFolder folder;
    folder.write("postroom.toml", one_of_two_is_down);
    EXPECT_EQ(folder.run({"migrate", "up", "--store", "north"}).code, 0);
    ChildProcess relay = folder.start({"relay", "--set", "admin.listen=127.0.0.1:0"});
    ASSERT_TRUE(
        wait_until([&] { return count_of(folder.read("err"), "ADMIN_READY") == 1; }, patience));
    const std::string url = text_member(folder.read("err"), "url");
    const auto health = [&] { return folder.run({"healthcheck", url}); };
    EXPECT_TRUE(wait_until([&] { return count_of(health().out, "south") > 0; }, patience, 100ms));
    EXPECT_EQ(health().code, 1);
    EXPECT_EQ(folder.run({"healthcheck", "--ready", url}).code, 1);
    EXPECT_TRUE(wait_until(
        [&] {
            return count_of(folder.run({"status", "--remote", url}).out, "unreachable: ") > 0;
        },
        patience, 100ms));
    relay.kill(SIGTERM);
    ASSERT_TRUE(relay.wait(patience));
}

TEST(OperatorOnStores, AMistypedTopicIsNotResumedAndTheNearestIsNamed) {
    const ProgramFolder folder;
    folder.good({"migrate", "up"});
    folder.good({"pause", "order.placed"});
    EXPECT_EQ(folder.good({"resume", "order.plcaed"}),
              "main: 'order.plcaed' is not paused; did you mean 'order.placed'?\n");
}

TEST(RelayUnknownTopic, IsNamedInTheLogAndByExplainAndLosesNothing) {
    ProgramFolder folder;
    folder.write(
        "postroom.toml",
        "[sinks.out]\ntype = \"stdout\"\n[[routes]]\ntopic = \"order.*\"\nsink = \"out\"\n");
    folder.good({"migrate", "up"});
    const std::string id =
        text_member(folder.good({"enqueue", "ordre.placed", "--payload", "1", "--json"}), "id");
    EXPECT_THAT(folder.good({"explain", id}),
                HasSubstr("no route of this configuration takes the topic 'ordre.placed'"));
    ChildProcess relay = folder.start({"relay"});
    EXPECT_TRUE(wait_until(
        [&] {
            const std::string log = folder.read("err");
            return count_of(log, "OUTBOX_WORKER_UNROUTABLE") > 0 &&
                   count_of(log, "ordre.placed") > 0;
        },
        patience));
    relay.kill(SIGTERM);
    const std::optional<ExitStatus> status = relay.wait(patience);
    EXPECT_TRUE(status && status->success());
    EXPECT_THAT(folder.good({"list"}), HasSubstr("ordre.placed"));
}

// Whatever fails: the URL of a hook, its token and its key stay where they were written.
TEST(RelaySecrets, OfSinksAreNeitherInTheLogNorInTheProcessList) {
    ProgramFolder folder;
    folder.set("HOOK_KEY", "whsec_aHVzaGh1c2hodXNoaHVzaGh1c2hodXNo");
    folder.write("token", "hush-token");
    folder.write("postroom.toml",
                 "[sinks.hook]\ntype = \"http\"\nurl = "
                 "\"http://127.0.0.1:1/in/${file:token}?key=hush-query\"\n"
                 "signing_keys = [\"${env:HOOK_KEY}\"]\n"
                 "authorization = \"Bearer hush-bearer\"\nallow_networks = [\"127.0.0.0/8\"]\n");
    folder.good({"migrate", "up"});
    folder.good({"enqueue", "--jsonl"},
                R"({"topic":"a","payload":"hush-payload","headers":{"h":"hush-header"}})");
    ChildProcess relay = folder.start({"relay", "--set", "log.level=debug"});
    EXPECT_TRUE(wait_until(
        [&] { return count_of(folder.read("err"), "OUTBOX_WORKER_CIRCUIT_OPEN") > 0; }, patience));
    const std::string words = folder.read("/proc/" + std::to_string(relay.pid()) + "/cmdline");
    EXPECT_THAT(words, HasSubstr("relay"));
    EXPECT_THAT(words, Not(HasSubstr("hush")));
    relay.kill(SIGTERM);
    ASSERT_TRUE(relay.wait(patience));
    const Ran doctor = folder.run({"doctor"});
    EXPECT_EQ(doctor.code, 1) << "nobody listens there";
    EXPECT_THAT(doctor.out, HasSubstr("hook"));
    for (const std::string& text : {folder.read("err"), folder.good({"config", "show"}),
                                    folder.good({"list"}), doctor.out, doctor.err}) {
        EXPECT_THAT(text, Not(HasSubstr("hush")));
        EXPECT_THAT(text, Not(HasSubstr("aHVzaGh1")));
    }
}

TEST(RelayStart, AStopWhileADatabaseDoesNotAnswerEndsAtOnceAndClean) {
    ProgramFolder folder;
    const MuteServer server;
    folder.write("postroom.toml", server.config());
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(server.wait_for_caller());
    relay.kill(SIGTERM);
    const std::optional<ExitStatus> status = relay.wait(patience);
    ASSERT_TRUE(status) << "it waits for the database";
    EXPECT_TRUE(status->success());
}

TEST(RelayStart, AStopDuringAReloadThatWaitsSettlesWhatRuns) {
    ProgramFolder folder;
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(
        wait_until([&] { return count_of(folder.read("err"), "RELAY_READY") == 1; }, patience));
    const MuteServer server;
    folder.write("postroom.toml", server.config());
    relay.kill(SIGHUP);
    ASSERT_TRUE(server.wait_for_caller());
    relay.kill(SIGTERM);
    const std::optional<ExitStatus> status = relay.wait(patience);
    ASSERT_TRUE(status) << "it waits for the database";
    EXPECT_TRUE(status->success());
    EXPECT_THAT(folder.read("err"), HasSubstr("RELAY_STOPPED"));
}

}  // namespace
}  // namespace postroom::test::operator_test
