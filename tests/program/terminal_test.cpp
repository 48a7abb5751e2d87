// What somebody at a terminal sees: tables that fit, colours, short ids, help, hints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include <fmt/format.h>

#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::terminal_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class TerminalOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.good({"migrate", "up"});
    }
    // The short id of the only message there is.
    std::string short_id() const {
        const std::string listed = folder.on_terminal({"list"}).out;
        const std::size_t at = listed.find('@');
        return at == std::string::npos ? "" : listed.substr(at, listed.find(' ', at) - at);
    }
};

TEST_P(TerminalOn, TablesFitItAndAreWholeElsewhere) {
    folder.set("NO_COLOR", "1");  // its codes take no place, but are characters here
    const std::string topic = "a.topic.that.is.longer.than.most.of.them.by.far";
    const std::string id = enqueue_dead(topic);
    const std::string error = "no handler for topic '" + topic + "'";
    const std::string narrow = folder.on_terminal({"list"}).out;
    EXPECT_LE(longest_line(narrow), 80U) << narrow;
    EXPECT_THAT(narrow, AllOf(HasSubstr("@"), HasSubstr("..."), Not(HasSubstr(id))));
    EXPECT_LE(longest_line(folder.on_terminal({"list"}, "", 60).out), 60U);
    for (const std::string command : {"status", "doctor", "show"}) {
        std::vector<std::string> words{command};
        if (command == "show") words.push_back(id);
        EXPECT_LE(longest_line(folder.on_terminal(words).out), 80U) << command;
    }
    EXPECT_THAT(
        folder.on_terminal({"list", "--wide"}).out,
        AllOf(HasSubstr(id), HasSubstr(topic + " "), HasSubstr(error), Not(HasSubstr("@"))));
    EXPECT_THAT(folder.good({"list"}),
                AllOf(HasSubstr(id), HasSubstr(topic + " "), HasSubstr(error)))
        << "scripts get all";
}

TEST_P(TerminalOn, AnEmptyListSaysHowToSeeDeliveredMessages) {
    EXPECT_THAT(folder.on_terminal({"list"}).out, HasSubstr("are open; --state all"));
    for (const std::string state : {"all", "dead"})
        EXPECT_THAT(folder.on_terminal({"list", "--state", state}).out,
                    AllOf(HasSubstr("no such messages\r"), Not(HasSubstr("--state all"))));
}

TEST_P(TerminalOn, WhatIsFollowedFitsToo) {
    const std::string topic = "a.topic.that.is.longer.than.most.of.them.by.far";
    const std::string id = enqueue(topic);
    const std::vector<std::string> tail{"tail", "--from-start", "--count", "1"};
    const std::string narrow = folder.on_terminal(tail).out;
    EXPECT_LE(longest_line(narrow), 80U) << narrow;
    EXPECT_THAT(narrow, AllOf(HasSubstr(" @"), Not(HasSubstr(id))));
    EXPECT_THAT(folder.good(tail), AllOf(HasSubstr(id), HasSubstr(topic)));
}

TEST_P(TerminalOn, SentencesAreBrokenBetweenWords) {
    const std::string topic = "a.topic.of.some.length";
    const std::string id = enqueue(topic);
    folder.good({"pause", topic});
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"explain", id}, {"status"}}) {
        const Ran ran = folder.on_terminal(words, "", 40);
        // Above them a table may stand, which has columns to show.
        const std::size_t begin = ran.out.find(words.front() == "status" ? "main: topic" : "");
        ASSERT_NE(begin, std::string::npos) << ran.out;
        EXPECT_LE(longest_line(ran.out.substr(begin)), 60U) << ran.out;
        EXPECT_THAT(ran.out, HasSubstr(topic)) << "whole";
    }
    const Ran wrong = folder.on_terminal({"status", "--url", "postgresql://127.0.0.1:1/shop"});
    EXPECT_EQ(wrong.code, 3);
    EXPECT_LE(longest_line(wrong.out), 80U) << wrong.out;
    EXPECT_GT(count_of(wrong.out, "\n"), 1U) << wrong.out;
}

TEST_P(TerminalOn, FailedAttemptsAreReadThere) {
    const std::string id = enqueue("order.placed");
    ChildProcess relay = folder.start({"relay", "--set", "relay.unroutable=retry", "--set",
                                       "routes.0.topic=nothing", "--set", "routes.0.sink=stdout"});
    const auto has_failed = [&] {
        return count_of(folder.good({"show", id, "--json"}), "\"attempts\":[{") == 1;
    };
    EXPECT_TRUE(wait_until(has_failed, std::chrono::seconds{90}));
    EXPECT_TRUE(stop(relay));
    const std::string shown = folder.on_terminal({"show", id}).out;
    EXPECT_LE(longest_line(shown), 80U) << shown;
    EXPECT_THAT(shown, testing::ContainsRegex("FAILED AT +20[0-9-]+T[0-9:.]+Z"));
    EXPECT_THAT(shown, testing::ContainsRegex("error +no handler for topic 'order.placed'"));
}

TEST_P(TerminalOn, EnqueueSaysThatItWaitsForThePayload) {
    const Ran ran = folder.on_terminal({"enqueue", "a"}, "17\n\x04");
    EXPECT_EQ(ran.code, 0) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("is read from the terminal until Ctrl-D"));
}

TEST_P(TerminalOn, StatesHaveColoursUnlessTheUserOrAPipeSaysOtherwise) {
    enqueue_dead("a");
    const std::string red = "\033[31mdead\033[0m";
    EXPECT_THAT(folder.on_terminal({"list"}).out, HasSubstr(red));
    EXPECT_THAT(folder.good({"list"}), Not(HasSubstr("\033")));
    folder.set("NO_COLOR", "1");
    EXPECT_THAT(folder.on_terminal({"list"}).out, Not(HasSubstr("\033[31m")));
}

TEST_P(TerminalOn, AShortIdNamesTheMessageInEveryCommand) {
    const std::string id = enqueue("a");
    const std::string name = short_id();
    EXPECT_THAT(name, StartsWith("@"));
    EXPECT_EQ(folder.good({"show", name}), folder.good({"show", id}));
    EXPECT_THAT(folder.good({"explain", name}), HasSubstr("ready for"));
    for (const std::string& other :
         {name + "7", std::string("@"), std::string("@0"), std::string("@x")})
        EXPECT_EQ(folder.run({"show", other}).code, 4) << other;
    EXPECT_EQ(folder.good({"discard", name}), "1 message discarded\n");
}

TEST_P(TerminalOn, TheNameOfNoAggregateTypeIsForProgramsOnly) {
    const std::string id = enqueue("a");
    EXPECT_THAT(folder.good({"show", id}), Not(HasSubstr("__GLOBAL__")));
    EXPECT_THAT(folder.good({"show", id, "--json"}), HasSubstr("__GLOBAL__"));
}

// The lines of all the pages that a full screen has shown, without the codes that draw them.
std::string pages_of(const std::string& screen) {
    const std::string pages = std::regex_replace(screen, std::regex("\033\\[H"), "\n");
    return std::regex_replace(pages, std::regex("\033\\[[?0-9]*[a-zA-Z]|\r"), "");
}

TEST_P(TerminalOn, TopFillsTheScreenAndGivesItBack) {
    folder.set("NO_COLOR", "1");
    enqueue_dead("a");
    folder.good({"pause", "held.back"});
    const Ran ran = folder.on_terminal({"top", "--every", "1h"}, "xq");
    EXPECT_EQ(ran.code, 0) << ran.out;
    EXPECT_EQ(count_of(ran.out, "\033[H"), 2U) << "at first, and for the key that is not q";
    EXPECT_EQ(count_of(ran.out, "\033[?1049h"), 1U);
    EXPECT_THAT(ran.out, testing::EndsWith("\033[?25h\033[?1049l"));
    const std::string seen = pages_of(ran.out);
    EXPECT_LE(longest_line(seen), 80U) << seen;
    EXPECT_THAT(seen, AllOf(testing::ContainsRegex("main +outbox +0.0/s +0.0/s +0 +0 +0 +1"),
                            HasSubstr("topic 'held.back' has been paused"),
                            HasSubstr("Nobody is at work")));
}

TEST_P(TerminalOn, TopShowsWhoIsAtWork) {
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(
        wait_until([&] { return folder.good({"workers"}).find("main") != std::string::npos; },
                   std::chrono::seconds{90}));
    const std::string workers = folder.on_terminal({"workers"}).out;
    EXPECT_LE(longest_line(workers), 80U) << workers;
    EXPECT_THAT(workers, HasSubstr("UP"));
    EXPECT_THAT(workers, testing::ContainsRegex("IN_HAND +DELIVERED +FAILED +TOPICS"));
    const std::string seen = pages_of(folder.on_terminal({"top"}, "q").out);
    EXPECT_THAT(seen, AllOf(HasSubstr(fmt::format(":{} ", relay.pid())),
                            HasSubstr("No destination is down"), Not(HasSubstr("Nobody"))));
    EXPECT_TRUE(stop(relay));
}

POSTROOM_ON_ALL_DATABASES(TerminalOn);

TEST(Top, NeedsATerminalAndAPaceThatTheDatabaseBears) {
    const ProgramFolder folder;
    folder.good({"migrate", "up"});
    const Ran piped = folder.run({"top"});
    EXPECT_EQ(piped.code, 2);
    EXPECT_THAT(piped.err, HasSubstr("needs a terminal; 'postroom status' prints once"));
    EXPECT_THAT(folder.run({"top", "--every", "1ms"}).err, HasSubstr("500ms or more"));
}

TEST(Help, IsACommandToo) {
    const ProgramFolder folder;
    EXPECT_EQ(folder.good({"help"}), folder.good({"--help"}));
    EXPECT_EQ(folder.good({"help", "migrate", "up"}), folder.good({"migrate", "up", "--help"}));
    const Ran unknown = folder.run({"help", "migrate", "sideways"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("there is no command 'migrate sideways'"));
}

TEST(EnqueueWarns, OfAPayloadThatIsNotWhatItsContentTypeSays) {
    const ProgramFolder folder;
    EXPECT_THAT(
        folder.run({"enqueue", "t", "--payload", "no json"}).err,
        HasSubstr("the payload is not JSON, although its content type is application/json"));
    EXPECT_EQ(folder.run({"enqueue", "t", "--payload", "{}"}).err, "");
    EXPECT_EQ(
        folder.run({"enqueue", "t", "--payload", "no json", "--content-type", "text/plain"}).err,
        "");
    EXPECT_THAT(
        folder.run({"enqueue", "t", "--payload", "\xff", "--content-type", "text/plain"}).err,
        HasSubstr("the payload is not text in UTF-8, although its content type is text/plain"));
    EXPECT_EQ(folder
                  .run({"enqueue", "t", "--payload", "\xff", "--content-type",
                        "text/plain; charset=latin1"})
                  .err,
              "");
}

TEST(EnqueueWarns, OnceOfLinesWithBytes) {
    const ProgramFolder folder;
    const std::string odd = R"({"topic":"t","payload_base64":"AAE="})";
    const Ran ran = folder.run({"enqueue", "--jsonl"}, R"({"topic":"t","payload":1})"
                                                       "\n" +
                                                           odd + "\n" + odd);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(count_of(ran.err, "the payload is not JSON"), 1U) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("line 2: "));
    EXPECT_EQ(folder
                  .run({"enqueue", "--jsonl"},
                       R"({"topic":"t","payload_base64":"AAE=","content_type":"image/png"})")
                  .err,
              "");
}

TEST(RelayLog, HasOneInfoLineAMessageWithItsSink) {
    const ProgramFolder folder;
    folder.write("postroom.toml", R"([sinks.archive]
type = "stdout"
path = "archive.jsonl"
)");
    folder.good({"migrate", "up"});
    folder.good({"enqueue", "t", "--payload", "1"});
    ChildProcess relay = folder.start({"relay"});
    EXPECT_TRUE(wait_until([&] { return count_of(folder.read("err"), "DISPATCH_SUCCESS") == 1; },
                           std::chrono::seconds{90}));
    EXPECT_EQ(count_of(folder.read("err"), "\"message_id\""), 1U) << folder.read("err");
    EXPECT_THAT(folder.read("err"), HasSubstr("\"destination\":\"archive\""));
}

// Goal: on a terminal a line of the log is read at a glance. Method: a destination that is down, of
// which there is much to say.
TEST(RelayLog, BreaksItsLinesBetweenWordsOnATerminal) {
    ProgramFolder folder;
    folder.set("NO_COLOR", "1");
    folder.set("POSTROOM_ADMIN__LISTEN", "127.0.0.1:0");
    folder.write("postroom.toml",
                 "[sinks.orders]\ntype = \"http\"\nurl = \"http://127.0.0.1:1/in\"\n"
                 "allow_networks = [\"127.0.0.0/8\"]\n");
    folder.good({"migrate", "up"});
    folder.good({"enqueue", "t", "--payload", "1"});
    const std::string log = folder.on_terminal({"relay", "--once"}).out;
    EXPECT_LE(longest_line(log), 80U) << log;
    EXPECT_THAT(log,
                testing::ContainsRegex("CIRCUIT_OPEN store=main\r\n  destination=[^ ]+ "
                                       "retry_in=[0-9.]+m?s error=\"Connection refused\"\r\n"));
    EXPECT_THAT(log, Not(HasSubstr("delay_ms")));
}

// Goal: what went wrong is seen at a glance, and nobody who wants no colours gets any.
// Method: a message that is delivered, one that no route takes, and one that is not due, on a
// terminal that knows colours, whatever the one is on which the tests run.
TEST(Colors, OfLogLevelsAndStatesAreThereUnlessTheUserSaysNoColor) {
    ProgramFolder folder;
    folder.set("TERM", "xterm");
    folder.set("POSTROOM_ADMIN__LISTEN", "127.0.0.1:0");
    folder.write("postroom.toml",
                 "[relay]\nunroutable = \"dead\"\n"
                 "[sinks.out]\ntype = \"stdout\"\npath = \"out.jsonl\"\n"
                 "[[routes]]\ntopic = \"known\"\nsink = \"out\"\n");
    folder.good({"migrate", "up"});
    folder.good({"enqueue", "later", "--payload", "1", "--due-time", "2999-01-01T00:00:00Z"});
    const auto seen_with = [&](const std::string& no_color) {
        folder.set("NO_COLOR", no_color);
        for (const std::string topic : {"known", "unknown"})
            folder.good({"enqueue", topic, "--payload", "1"});
        return std::pair{folder.on_terminal({"relay", "--once"}).out,
                         folder.on_terminal({"list", "--state", "all"}).out};
    };
    const auto [log, states] = seen_with("");  // as if it were not there
    EXPECT_THAT(log, AllOf(HasSubstr("\033[33mWARNING\033[0m OUTBOX_WORKER_UNROUTABLE"),
                           HasSubstr("\033[31mERROR  \033[0m OUTBOX_WORKER_DEAD"),
                           HasSubstr(" INFO    OUTBOX_WORKER_DISPATCH_SUCCESS")));
    EXPECT_THAT(states, AllOf(HasSubstr("\033[31mdead\033[0m"), HasSubstr("\033[32mdone\033[0m"),
                              HasSubstr("\033[36mready\033[0m")));

    const auto [plain_log, plain_states] = seen_with("1");
    EXPECT_THAT(plain_log, AllOf(HasSubstr(" WARNING OUTBOX_WORKER_UNROUTABLE"),
                                 HasSubstr(" ERROR   OUTBOX_WORKER_DEAD")));
    EXPECT_THAT(plain_states, AllOf(HasSubstr("dead"), HasSubstr("done"), HasSubstr("ready")));
    for (const std::string& text : {plain_log, plain_states})
        EXPECT_THAT(text, AllOf(Not(HasSubstr("\033[3")), Not(HasSubstr("\033[0m"))));
}

// The kernel takes 0.0.0.0 for this machine, and we do not: that makes another machine of it.
std::string from_elsewhere(std::string url) {
    const std::size_t at = url.find("127.0.0.1");
    return at == std::string::npos ? url : url.replace(at, 9, "0.0.0.0");
}

TEST(TlsHint, NamesTheOptionOfTheEngine) {
    ProgramFolder folder;
    const PostgresDatabase postgres;
    folder.set("POSTROOM_URL", from_elsewhere(postgres.url()));
    const Ran refused = folder.run({"status"});
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("?sslmode=disable"), Not(HasSubstr("is the server running"))));
    folder.set("POSTROOM_URL", from_elsewhere(postgres.url()) + "?sslmode=disable");
    EXPECT_EQ(folder.run({"status"}).code, 6) << "connected; there is no schema";
#ifdef POSTROOM_TEST_MYSQL
    const MariadbDatabase mariadb;
    folder.set("POSTROOM_URL", from_elsewhere(mariadb.url()));
    EXPECT_THAT(folder.run({"status"}).err, HasSubstr("?ssl-mode=disabled"));
#endif
}

TEST(FileHint, SaysWhatIsWrongWithThePath) {
    ProgramFolder folder;
    std::filesystem::create_symlink("loop.db", folder / "loop.db");
    folder.set("POSTROOM_URL", "sqlite:loop.db");
    const Ran loop = folder.run({"status"});
    EXPECT_EQ(loop.code, 3);
    EXPECT_THAT(loop.err, AllOf(HasSubstr("cannot look at the file loop.db: Too many levels"),
                                Not(HasSubstr("password"))));
    folder.set("POSTROOM_URL", "sqlite://shop.db");
    EXPECT_THAT(folder.run({"status"}).err, HasSubstr("write sqlite:shop.db for a relative path"));
}

TEST(FileHint, AFolderThatIsNotThereIsNamed) {
    ProgramFolder folder;
    folder.set("POSTROOM_URL", "sqlite:nowhere/shop.db");
    const Ran looked = folder.run({"status"});
    EXPECT_EQ(looked.code, 4);
    EXPECT_THAT(looked.err, AllOf(HasSubstr("no such folder: " + (folder / "nowhere").string()),
                                  Not(HasSubstr("migrate up"))));
    const Ran made = folder.run({"migrate", "up"});
    EXPECT_EQ(made.code, 3);
    EXPECT_THAT(made.err,
                AllOf(HasSubstr("its folder is not there"), Not(HasSubstr("may this user"))));
}

// Runs `script` as the shell does; it finds the program as $PROGRAM and the folder as $FOLDER.
std::string shell(const ProgramFolder& folder, const std::string& script) {
    ChildProcess child({.program = "/bin/sh",
                        .arguments = {"-c", script + " 2>&1"},
                        .environment = {{"PROGRAM", program_path("postroom").string()},
                                        {"FOLDER", folder.folder().path().string()}}});
    return child.read_all(std::chrono::seconds{60});
}

TEST(FileHint, AFileOfSomebodyElseIsAMatterOfRights) {
    const ProgramFolder folder;
    folder.good({"migrate", "up", "--url", "sqlite:shop.db"});
    // Root may do everything: there it is nobody who looks.
    const std::string seen = shell(folder,
                                   "chmod 755 \"$FOLDER\"; chmod 0 \"$FOLDER/shop.db\"; cd /; "
                                   "[ $(id -u) = 0 ] && as='setpriv --reuid 65534 --clear-groups'; "
                                   "$as \"$PROGRAM\" status --url \"sqlite:$FOLDER/shop.db\"");
    EXPECT_THAT(seen, AllOf(HasSubstr("Permission denied; this user needs the right to read"),
                            Not(HasSubstr("is the path right")), Not(HasSubstr("password"))));
}

TEST(FileHint, AFullDiskIsAMatterOfRoom) {
    const ProgramFolder folder;
    const std::string seen = shell(
        folder,
        "unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=64k full \"$FOLDER\" && "
        "{ head -c 100000 /dev/zero >\"$FOLDER/fill\"; : >\"$FOLDER/shop.db\"; "
        "\"$PROGRAM\" status --url \"sqlite:$FOLDER/shop.db\"; }'");
    EXPECT_THAT(seen, AllOf(HasSubstr("make room on its disk"), Not(HasSubstr("is the path right")),
                            Not(HasSubstr("password"))));
}

TEST(ServerHint, IsGivenOnce) {
    const ProgramFolder folder;
    const std::string said = folder.run({"status", "--url", "postgresql://127.0.0.1:1/shop"}).err;
    EXPECT_THAT(said, HasSubstr("Connection refused; is the server running"));
    EXPECT_THAT(said, AllOf(Not(HasSubstr("Is the server running")), Not(HasSubstr("  "))));
#ifdef POSTROOM_TEST_MYSQL
    EXPECT_THAT(folder.run({"status", "--url", "mariadb://127.0.0.1:1/shop"}).err,
                AllOf(HasSubstr("connecting to 127.0.0.1:1: Connection refused"),
                      HasSubstr("; is the server running")));
    EXPECT_THAT(folder.run({"status", "--url", "mariadb://nowhere.invalid/shop"}).err,
                HasSubstr("connecting to nowhere.invalid:3306: Name or service not known"));
    EXPECT_THAT(
        folder.run({"status", "--url", "mariadb://localhost/shop?socket=/nowhere/sock"}).err,
        HasSubstr("connecting to /nowhere/sock: No such file or directory"));
#endif
}

}  // namespace
}  // namespace postroom::test::terminal_test
