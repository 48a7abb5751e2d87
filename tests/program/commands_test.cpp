// The commands that operate a store, on every database that is an address away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "program/program_on.hpp"
#include "support/mariadb_server.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::commands_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class CommandsOn : public ProgramOn {};

TEST_P(CommandsOn, SchemaNotDeployedIsToldWithWhatToDo) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"status"}, {"list"}, {"relay"}, {"enqueue", "a", "--payload", "1"}}) {
        const Ran ran = folder.run(command);
        EXPECT_EQ(ran.code, 6) << command[0];
        EXPECT_THAT(ran.err, HasSubstr("run 'postroom migrate up'")) << command[0];
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    }
}

TEST_P(CommandsOn, MigratePlansThenAppliesThenHasNothingToDo) {
    EXPECT_EQ(folder.run({"migrate", "status"}).code, 6);
    EXPECT_THAT(folder.good({"migrate", "plan"}), HasSubstr("queue_tables"));
    EXPECT_EQ(folder.good({"migrate", "up", "--dry-run"}), folder.good({"migrate", "plan"}));
    EXPECT_EQ(folder.run({"migrate", "status"}).code, 6) << "--dry-run changed something";
    EXPECT_THAT(folder.good({"migrate", "up"}), HasSubstr("migrations applied"));
    EXPECT_THAT(folder.good({"migrate", "up"}), HasSubstr("main: 0 migrations applied"));
    EXPECT_EQ(folder.good({"migrate", "plan"}), "nothing to do\n");
    EXPECT_THAT(folder.good({"migrate", "status", "--json"}), HasSubstr("\"up_to_date\":true"));
    EXPECT_THAT(folder.good({"migrate", "sql"}), HasSubstr("CREATE TABLE"));
}

TEST_P(CommandsOn, OneMessageIsEnqueuedListedShownAndExplained) {
    folder.good({"migrate", "up"});
    const std::string id = enqueue("order.placed", {"--correlation-id", "c-1"});
    EXPECT_THAT(folder.good({"list"}), HasSubstr(id));
    EXPECT_EQ(folder.good({"list", "--topic", "other"}), "no such messages\n");
    EXPECT_THAT(folder.good({"list", "--state", "ready", "--json"}), HasSubstr(id));
    EXPECT_THAT(folder.good({"show", id}), HasSubstr("c-1"));
    EXPECT_THAT(folder.good({"show", id}), Not(HasSubstr("{}")));
    EXPECT_THAT(folder.good({"show", id, "--payload", "--json"}), HasSubstr("\"payload\":{}"));
    EXPECT_THAT(folder.good({"explain", id}),
                HasSubstr("not claimed: nobody is at work here, is a relay running"));
    const std::string status = folder.good({"status", "--queue", "outbox", "--json"});
    EXPECT_THAT(status, HasSubstr("\"ready\":1,"));
    const Ran missing = folder.run({"show", "nobody"});
    EXPECT_EQ(missing.code, 4);
    EXPECT_THAT(missing.err, HasSubstr("has no message 'nobody'"));
}

TEST_P(CommandsOn, ExplainKnowsWhyAMessageWaits) {
    folder.good({"migrate", "up"});
    const std::string later = enqueue("a", {"--due-time", "2999-01-01T00:00:00Z"});
    EXPECT_THAT(folder.good({"explain", later}), HasSubstr("not due yet: due at 2999-01-01"));
    const std::string unrouted = enqueue("b");
    EXPECT_THAT(folder.good({"explain", unrouted, "--set", "routes.0.topic=other", "--set",
                             "routes.0.sink=stdout"}),
                HasSubstr("no route of this configuration takes the topic 'b'"));
    const std::string first =
        enqueue("c", {"--ordering-key", "k", "--due-time", "2999-01-01T00:00:00Z"});
    const std::string second = enqueue("c", {"--ordering-key", "k"});
    EXPECT_THAT(folder.good({"explain", second}), HasSubstr("held back: " + first));
}

TEST_P(CommandsOn, LinesAreEnqueuedInBatchesAndToTheByte) {
    folder.good({"migrate", "up"});
    std::string lines;
    for (int i = 0; i < 25; ++i)
        lines += R"({"topic":"bulk","payload":{"b":1.10,"a":12345678901234567890}})"
                 "\n";
    lines += R"({"topic":"bytes","payload_base64":"AAEC","content_type":"image/png"})"
             "\n";
    lines += R"({"topic":"text","payload":"plain","content_type":"text/plain"})";
    EXPECT_EQ(folder.good({"enqueue", "--jsonl", "--batch", "10", "--dry-run"}, lines),
              "would enqueue 27 messages\n");
    EXPECT_EQ(folder.good({"enqueue", "--jsonl", "--batch", "10"}, lines),
              "enqueued 27 messages\n");
    const std::string listed = folder.good({"list", "--oldest-first", "--json"});
    EXPECT_EQ(count_of(listed, "\"topic\":\"bulk\""), 25U);
    EXPECT_THAT(folder.good({"show", "--payload", "--json", text_member(listed, "id")}),
                HasSubstr(R"("payload":{"b":1.10,"a":12345678901234567890})"));
    EXPECT_EQ(count_of(folder.good({"list", "--topic", "bytes", "--json"}), "\"payload_bytes\":3"),
              1U);
    EXPECT_EQ(count_of(folder.good({"list", "--topic", "text", "--json"}), "\"payload_bytes\":5"),
              1U);
}

TEST_P(CommandsOn, AMalformedLineIsNamedAndItsBatchIsNotStored) {
    folder.good({"migrate", "up"});
    std::string lines;
    for (int i = 0; i < 7; ++i)
        lines += R"({"topic":"bulk","payload":1})"
                 "\n";
    const std::string more =
        "\n"
        R"({"topic":"bulk","payload":2})";
    Ran ran = folder.run({"enqueue", "--jsonl", "--batch", "3"}, lines + "{\"topic\":" + more);
    EXPECT_EQ(ran.code, 7);
    EXPECT_THAT(ran.err, HasSubstr("line 8: not JSON"));
    EXPECT_THAT(ran.err, HasSubstr("lines up to 6 are stored, those behind are not"));
    EXPECT_EQ(count_of(folder.good({"list", "--json"}), "\"id\""), 6U);
    ran = folder.run({"enqueue", "--jsonl"}, R"({"topic":"x","paylaod":1})");
    EXPECT_EQ(ran.code, 7);
    EXPECT_THAT(ran.err, HasSubstr("line 1: unknown field 'paylaod'; did you mean 'payload'? "
                                   "Nothing was stored"));
}

TEST_P(CommandsOn, ASecondMessageWithTheSameKeyIsNotStored) {
    folder.good({"migrate", "up"});
    enqueue("a", {"--idempotency-key", "k"});
    EXPECT_THAT(folder.good({"enqueue", "a", "--payload", "1", "--idempotency-key", "k", "--json"}),
                HasSubstr("\"already_existed\":true"));
    EXPECT_EQ(count_of(folder.good({"list", "--json"}), "\"id\""), 1U);
}

TEST_P(CommandsOn, DeadMessagesAreRedrivenByIdAndByFilter) {
    folder.good({"migrate", "up"});
    const std::string id = enqueue_dead("order.placed");
    EXPECT_THAT(folder.good({"explain", id}), HasSubstr("dead (failed)"));
    EXPECT_EQ(folder.good({"redrive", id, "--dry-run"}), "would redrive 1 message\n");
    EXPECT_EQ(folder.good({"redrive", "--topic", "other"}), "0 messages redriven\n");
    EXPECT_EQ(folder.good({"redrive", "--error", "no handler for", "--dry-run"}),
              "would redrive 1 message\n");
    EXPECT_THAT(folder.good({"status", "--queue", "outbox", "--json"}), HasSubstr("\"dead\":1"));
    EXPECT_EQ(folder.good({"redrive", "--all", "--rate", "100"}), "1 message redriven\n");
    EXPECT_THAT(folder.good({"status", "--queue", "outbox", "--json"}), HasSubstr("\"dead\":0"));
    const Ran again = folder.run({"redrive", id});
    EXPECT_EQ(again.code, 1);
    EXPECT_THAT(again.err, HasSubstr("is ready, not dead; nothing was done"));
    EXPECT_EQ(folder.run({"redrive"}).code, 2);
}

TEST_P(CommandsOn, PurgeRemovesWhatWasDelivered) {
    folder.good({"migrate", "up"});
    enqueue("a");
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(relay.read_line(std::chrono::seconds{60}));
    relay.kill(SIGTERM);
    ASSERT_TRUE(relay.wait(std::chrono::seconds{60}));
    EXPECT_EQ(folder.good({"purge", "--yes"}), "0 messages purged\n");
    EXPECT_EQ(folder.good({"purge", "--older-than", "0", "--dry-run"}), "would purge 1 message\n");
    EXPECT_EQ(folder.good({"purge", "--older-than", "0", "--yes"}), "1 message purged\n");
    EXPECT_EQ(folder.good({"list", "--state", "all"}), "no such messages\n");
    EXPECT_EQ(folder.run({"purge", "--older-than", "7"}).code, 2);
}

TEST_P(CommandsOn, TailShowsWhatComesAndNotWhatWas) {
    folder.good({"migrate", "up"});
    enqueue("before");
    EXPECT_THAT(folder.good({"tail", "--from-start", "--count", "1"}), HasSubstr(" before "));
    ChildProcess tail = folder.start({"tail", "--count", "1"});
    ASSERT_TRUE(wait_for_log("following"));
    enqueue("behind");
    EXPECT_THAT(tail.read_line(std::chrono::seconds{60}).value_or(""), HasSubstr(" behind "));
    const std::optional<ExitStatus> status = tail.wait(std::chrono::seconds{60});
    EXPECT_TRUE(status && status->success());
}

TEST_P(CommandsOn, DoctorFindsWhatIsMissing) {
    const Ran before = folder.run({"doctor"});
    EXPECT_EQ(before.code, 1);
    EXPECT_THAT(before.out, HasSubstr("run 'postroom migrate up'"));
    folder.good({"migrate", "up"});
    const Ran ran = folder.run({"doctor", "--json"});
    const std::string& after = ran.out;
    EXPECT_THAT(after, HasSubstr("\"check\":\"clock\",\"health\":\"ok\""));
    EXPECT_THAT(after, HasSubstr("\"check\":\"claim plan\",\"health\":\"ok\""));
    // The PostgreSQL of the tests runs without fsync, which is what the doctor is there to find.
    const bool unsafe = on("postgres");
    EXPECT_EQ(ran.code, unsafe ? 1 : 0) << after;
    EXPECT_EQ(count_of(after, "\"health\":\"bad\""), unsafe ? 1U : 0U) << after;
    EXPECT_THAT(after, HasSubstr("\"check\":\"durability\""));
    EXPECT_EQ(count_of(after, "fsync off"), unsafe ? 1U : 0U);
    EXPECT_EQ(count_of(after, " MiB are free"), on("sqlite") ? 1U : 0U);
    EXPECT_EQ(count_of(after, "\"check\":\"old snapshots\",\"health\":"), on("sqlite") ? 0U : 1U);
    folder.good({"pause", "a"});
    EXPECT_THAT(folder.run({"doctor"}).out, HasSubstr("the topic 'a' has been paused since"));
}

POSTROOM_ON_ALL_DATABASES(CommandsOn);

// Nothing can be stored in /proc.
TEST(Doctor, AFullDiskIsBad) {
    const ProgramFolder folder;
    const Ran ran = folder.run({"doctor", "--url", "sqlite:/proc/shop.db", "--json"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.out, HasSubstr(R"("check":"disk","health":"bad","what":"0 MiB are free")"));
}

std::vector<std::vector<std::string>> commands_that_connect() {
    return {{"status"}, {"relay"}, {"migrate", "status"}, {"migrate", "up"}, {"bench"}};
}

#ifdef POSTROOM_TEST_MYSQL
TEST(ProgramBadInput, AWrongPasswordIsToldWithoutRepeatingIt) {
    const MariadbDatabase database;
    const std::string& url = database.url();
    const std::size_t colon = url.find(':', url.find("://") + 3);
    ProgramFolder folder;
    folder.set("POSTROOM_URL", url.substr(0, colon) + ":hush" + url.substr(url.find('@')));
    for (const std::vector<std::string>& command : commands_that_connect()) {
        const Ran ran = folder.run(command);
        EXPECT_EQ(ran.code, 3) << command.back() << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("are database, user, password and rights right?"));
        EXPECT_THAT(ran.err, Not(HasSubstr("hush")));
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    }
}
#endif

TEST(ProgramBadInput, AServerThatIsNotThereIsUnavailable) {
    ProgramFolder folder;
    for (const std::string url :
         {"postgresql://app@127.0.0.1:1/shop", "mysql://app@127.0.0.1:1/shop"}) {
        folder.set("POSTROOM_URL", url);
        for (const std::vector<std::string>& command : commands_that_connect()) {
            const Ran ran = folder.run(command);
            EXPECT_EQ(ran.code, 3) << command.back();
            EXPECT_THAT(ran.err, HasSubstr("store 'main': "));
            EXPECT_THAT(ran.err, HasSubstr("is the server running"));
            EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
        }
    }
}

TEST(ProgramBadInput, AFileThatIsNoDatabaseIsNotTakenForALogin) {
    ProgramFolder folder;
    folder.write("notes.txt", std::string(5000, 'x'));
    folder.set("POSTROOM_URL", "sqlite:notes.txt");
    for (const std::vector<std::string>& command : commands_that_connect()) {
        const Ran ran = folder.run(command);
        EXPECT_EQ(ran.code, 3) << command.back();
        EXPECT_THAT(ran.err, HasSubstr("is the path right"));
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    }
}

TEST(ProgramBadInput, ADatabaseThatIsNotThereIsNamed) {
    ProgramFolder folder;
    const PostgresDatabase postgres;
    std::vector<std::string> urls{postgres.url()};
#ifdef POSTROOM_TEST_MYSQL
    const MariadbDatabase mariadb;
    urls.push_back(mariadb.url());
#endif
    for (const std::string& url : urls) {
        folder.set("POSTROOM_URL", url + "_not");
        for (const std::vector<std::string>& command : commands_that_connect()) {
            const Ran ran = folder.run(command);
            EXPECT_EQ(ran.code, 3) << command.back() << ran.err;
            EXPECT_THAT(ran.err, HasSubstr("_not"));
            EXPECT_THAT(ran.err, HasSubstr("database, user"));
        }
    }
}

TEST(ProgramBadInput, AnUnknownSchemeIsNamedWithTheKnownOnes) {
    ProgramFolder folder;
    folder.set("POSTROOM_URL", "orakel:shop");
    const std::pair<std::string, std::string> places[]{{"status", "POSTROOM_URL"},
                                                       {"relay", "stores.main.url"}};
    for (const auto& [command, place] : places) {
        const Ran ran = folder.run({command});
        EXPECT_EQ(ran.code, 5) << command;
        EXPECT_THAT(ran.err, HasSubstr(place + ": unknown scheme 'orakel'; known: "));
    }
}

TEST(ProgramBadInput, SeveralStoresMustBeChosenFrom) {
    ProgramFolder folder;
    folder.write("postroom.toml",
                 "[stores.north]\nurl = \"sqlite:n.db\"\n[stores.south]\nurl = \"sqlite:s.db\"\n");
    folder.good({"migrate", "up"});
    EXPECT_EQ(folder.run({"list"}).code, 2);
    EXPECT_THAT(folder.run({"list"}).err, HasSubstr("--store: north, south"));
    EXPECT_THAT(folder.run({"list", "--store", "norht"}).err, HasSubstr("did you mean 'north'?"));
    EXPECT_EQ(folder.good({"list", "--store", "north"}), "no such messages\n");
    EXPECT_THAT(folder.good({"status"}), HasSubstr("\nsouth"));
}

TEST(ProgramBadInput, NoCommandButMigrateUpMakesADatabaseOfAMistypedName) {
    ProgramFolder folder;
    for (const std::string url : {"", "sqlite:shpo.db"}) {
        if (!url.empty()) folder.set("POSTROOM_URL", url);
        const std::string file = url.empty() ? "postroom.db" : "shpo.db";
        std::vector<std::vector<std::string>> commands{
            {"status"}, {"list"}, {"pause", "a"}, {"migrate", "status"}, {"redrive", "--all"}};
        // Without any configuration these two make what they need.
        if (!url.empty()) {
            commands.push_back({"relay"});
            commands.push_back({"enqueue", "a", "--payload", "1"});
        }
        for (const std::vector<std::string>& command : commands) {
            const Ran ran = folder.run(command);
            EXPECT_EQ(ran.code, 4) << command[0] << ran.err;
            EXPECT_THAT(ran.err, HasSubstr("no such file: " + (folder / file).string()));
            EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
        }
        EXPECT_THAT(folder.good({"migrate", "plan"}), HasSubstr("queue_tables"));
        EXPECT_THAT(folder.good({"migrate", "sql"}), HasSubstr("CREATE TABLE"));
        EXPECT_FALSE(std::filesystem::exists(folder / file));
        folder.good({"migrate", "up"});
        EXPECT_TRUE(std::filesystem::exists(folder / file));
    }
}

TEST(ProgramBadInput, WhatCannotBeReadIsNoEmptyMessage) {
    ProgramFolder folder;
    folder.good({"migrate", "up"});
    std::filesystem::create_directory(folder / "folder");
    Ran ran = folder.run({"enqueue", "a", "--payload-file", "folder"});
    EXPECT_EQ(ran.code, 7);
    EXPECT_THAT(ran.err, HasSubstr("cannot read the file 'folder'"));
    ran = folder.run({"enqueue", "a", "--payload-file", "nowhere"});
    EXPECT_EQ(ran.code, 4);
    // Standard input is a folder here, and a closed descriptor.
    const std::string program = program_path("postroom").string();
    for (const std::string input : {"<folder", "<&-"}) {
        for (const std::string more : {"a", "--jsonl"}) {
            ChildProcess child(
                {.program = "/bin/sh",
                 .arguments = {"-c", "cd \"$0\" && \"$1\" enqueue " + more + " " + input + " 2>err",
                               folder.folder().path().string(), program}});
            const std::optional<ExitStatus> status = child.wait(std::chrono::seconds{60});
            ASSERT_TRUE(status) << input << more;
            EXPECT_EQ(status->code, 7) << input << more;
            EXPECT_THAT(folder.read("err"), HasSubstr("cannot read")) << input << more;
        }
    }
    EXPECT_EQ(folder.good({"list"}), "no such messages\n");
}

TEST(ProgramBadInput, ASettingOutsideItsLimitsIsAFaultOfTheConfiguration) {
    ProgramFolder folder;
    folder.write("postroom.toml", "[relay]\nretention = \"9999d\"\n");
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"relay"}, {"config", "check"}}) {
        const Ran ran = folder.run(command);
        EXPECT_EQ(ran.code, 5) << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("postroom.toml:2: relay.retention"));
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    }
}

}  // namespace
}  // namespace postroom::test::commands_test
