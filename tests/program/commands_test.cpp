// The commands that operate a store, on every database that is an address away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>

#include "program/program.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/wait_until.hpp"

namespace postroom::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A folder whose program finds an empty database of its own by POSTROOM_URL.
class ProgramOn : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "postgres") {
            database_ = std::make_unique<PostgresDatabase>();
            folder.set("POSTROOM_URL", database_->url());
#ifdef POSTROOM_TEST_MYSQL
        } else if (GetParam() == "mariadb") {
            mariadb_ = std::make_unique<MariadbDatabase>();
            folder.set("POSTROOM_URL", mariadb_->url());
#endif
        } else {
            folder.set("POSTROOM_URL", "sqlite:shop.db");
        }
    }

    std::string enqueue(const std::string& topic, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"enqueue", topic, "--payload", "{}", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return text_member(folder.good(arguments), "id");
    }

    bool wait_for_log(const std::string& part) const {
        return wait_until([&] { return folder.read("err").find(part) != std::string::npos; },
                          std::chrono::seconds{60});
    }

    // A message whose topic nobody takes, and a relay that gives up on such at once.
    std::string enqueue_dead(const std::string& topic) {
        const std::string id = enqueue(topic);
        ChildProcess relay =
            folder.start({"relay", "--set", "relay.unroutable=dead", "--set",
                          "routes.0.topic=nothing", "--set", "routes.0.sink=stdout"});
        EXPECT_TRUE(wait_for_log("OUTBOX_WORKER_DEAD"));
        relay.kill(SIGTERM);
        const std::optional<ExitStatus> status = relay.wait(std::chrono::seconds{60});
        EXPECT_TRUE(status && status->success());
        return id;
    }

    ProgramFolder folder;

private:
    std::unique_ptr<PostgresDatabase> database_;
#ifdef POSTROOM_TEST_MYSQL
    std::unique_ptr<MariadbDatabase> mariadb_;
#endif
};

TEST_P(ProgramOn, SchemaNotDeployedIsToldWithWhatToDo) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"status"}, {"list"}, {"relay"}, {"enqueue", "a", "--payload", "1"}}) {
        const Ran ran = folder.run(command);
        EXPECT_EQ(ran.code, 6) << command[0];
        EXPECT_THAT(ran.err, HasSubstr("run 'postroom migrate up'")) << command[0];
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    }
}

TEST_P(ProgramOn, MigratePlansThenAppliesThenHasNothingToDo) {
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

TEST_P(ProgramOn, OneMessageIsEnqueuedListedShownAndExplained) {
    folder.good({"migrate", "up"});
    const std::string id = enqueue("order.placed", {"--correlation-id", "c-1"});
    EXPECT_THAT(folder.good({"list"}), HasSubstr(id));
    EXPECT_EQ(folder.good({"list", "--topic", "other"}), "no such messages\n");
    EXPECT_THAT(folder.good({"list", "--state", "ready", "--json"}), HasSubstr(id));
    EXPECT_THAT(folder.good({"show", id}), HasSubstr("c-1"));
    EXPECT_THAT(folder.good({"show", id}), Not(HasSubstr("{}")));
    EXPECT_THAT(folder.good({"show", id, "--payload", "--json"}), HasSubstr("\"payload\":{}"));
    EXPECT_THAT(folder.good({"explain", id}), HasSubstr("not claimed: is a relay running"));
    const std::string status = folder.good({"status", "--queue", "outbox", "--json"});
    EXPECT_THAT(status, HasSubstr("\"ready\":1,"));
    const Ran missing = folder.run({"show", "nobody"});
    EXPECT_EQ(missing.code, 4);
    EXPECT_THAT(missing.err, HasSubstr("has no message 'nobody'"));
}

TEST_P(ProgramOn, ExplainKnowsWhyAMessageWaits) {
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

TEST_P(ProgramOn, LinesAreEnqueuedInBatchesAndToTheByte) {
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
    const std::string listed = folder.good({"list", "--json"});
    EXPECT_EQ(count_of(listed, "\"topic\":\"bulk\""), 25U);
    EXPECT_THAT(folder.good({"show", "--payload", "--json", text_member(listed, "id")}),
                HasSubstr(R"("payload":{"b":1.10,"a":12345678901234567890})"));
    EXPECT_EQ(count_of(folder.good({"list", "--topic", "bytes", "--json"}), "\"payload_bytes\":3"),
              1U);
    EXPECT_EQ(count_of(folder.good({"list", "--topic", "text", "--json"}), "\"payload_bytes\":5"),
              1U);
}

TEST_P(ProgramOn, AMalformedLineIsNamedAndItsBatchIsNotStored) {
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
    EXPECT_THAT(ran.err, HasSubstr("line 1: unknown field 'paylaod'; did you mean 'payload'?; "
                                   "nothing was stored"));
}

TEST_P(ProgramOn, ASecondMessageWithTheSameKeyIsNotStored) {
    folder.good({"migrate", "up"});
    enqueue("a", {"--idempotency-key", "k"});
    EXPECT_THAT(folder.good({"enqueue", "a", "--payload", "1", "--idempotency-key", "k", "--json"}),
                HasSubstr("\"already_existed\":true"));
    EXPECT_EQ(count_of(folder.good({"list", "--json"}), "\"id\""), 1U);
}

TEST_P(ProgramOn, DeadMessagesAreRedrivenByIdAndByFilter) {
    folder.good({"migrate", "up"});
    const std::string id = enqueue_dead("order.placed");
    EXPECT_THAT(folder.good({"explain", id}), HasSubstr("dead (failed)"));
    EXPECT_EQ(folder.good({"redrive", id, "--dry-run"}), "would redrive 1 messages\n");
    EXPECT_EQ(folder.good({"redrive", "--topic", "other"}), "0 messages redriven\n");
    EXPECT_EQ(folder.good({"redrive", "--error", "no handler for", "--dry-run"}),
              "would redrive 1 messages\n");
    EXPECT_THAT(folder.good({"status", "--queue", "outbox", "--json"}), HasSubstr("\"dead\":1"));
    EXPECT_EQ(folder.good({"redrive", "--all", "--rate", "100"}), "1 messages redriven\n");
    EXPECT_THAT(folder.good({"status", "--queue", "outbox", "--json"}), HasSubstr("\"dead\":0"));
    const Ran again = folder.run({"redrive", id});
    EXPECT_EQ(again.code, 1);
    EXPECT_THAT(again.err, HasSubstr("is ready, not dead; nothing was done"));
    EXPECT_EQ(folder.run({"redrive"}).code, 2);
}

TEST_P(ProgramOn, PurgeRemovesWhatWasDelivered) {
    folder.good({"migrate", "up"});
    enqueue("a");
    ChildProcess relay = folder.start({"relay"});
    ASSERT_TRUE(relay.read_line(std::chrono::seconds{60}));
    relay.kill(SIGTERM);
    ASSERT_TRUE(relay.wait(std::chrono::seconds{60}));
    EXPECT_EQ(folder.good({"purge"}), "0 messages purged\n");
    EXPECT_EQ(folder.good({"purge", "--older-than", "0", "--dry-run"}), "would purge 1 messages\n");
    EXPECT_EQ(folder.good({"purge", "--older-than", "0"}), "1 messages purged\n");
    EXPECT_EQ(folder.good({"list"}), "no such messages\n");
    EXPECT_EQ(folder.run({"purge", "--older-than", "7"}).code, 2);
}

TEST_P(ProgramOn, TailShowsWhatComesAndNotWhatWas) {
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

TEST_P(ProgramOn, DoctorFindsWhatIsMissing) {
    const Ran before = folder.run({"doctor"});
    EXPECT_EQ(before.code, 1);
    EXPECT_THAT(before.out, HasSubstr("run 'postroom migrate up'"));
    folder.good({"migrate", "up"});
    const std::string after = folder.good({"doctor", "--json"});
    EXPECT_THAT(after, HasSubstr("\"check\":\"clock\",\"health\":\"ok\""));
    EXPECT_THAT(after, Not(HasSubstr("\"health\":\"bad\"")));
}

INSTANTIATE_TEST_SUITE_P(Sqlite, ProgramOn, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgres, ProgramOn, testing::Values("postgres"));

#ifdef POSTROOM_TEST_MYSQL
INSTANTIATE_TEST_SUITE_P(Mariadb, ProgramOn, testing::Values("mariadb"));

TEST(ProgramBadInput, AWrongPasswordIsToldWithoutRepeatingIt) {
    const MariadbDatabase database;
    const std::string& url = database.url();
    const std::size_t colon = url.find(':', url.find("://") + 3);
    ProgramFolder folder;
    folder.set("POSTROOM_URL", url.substr(0, colon) + ":hush" + url.substr(url.find('@')));
    for (const std::string command : {"status", "relay"}) {
        const Ran ran = folder.run({command});
        EXPECT_EQ(ran.code, 3) << command << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("are user, password and rights right?"));
        EXPECT_THAT(ran.err, Not(HasSubstr("hush")));
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    }
}
#endif

TEST(ProgramBadInput, AServerThatIsNotThereIsUnavailable) {
    ProgramFolder folder;
    folder.set("POSTROOM_URL", "postgresql://app@127.0.0.1:1/shop");
    for (const std::string command : {"status", "relay"}) {
        const Ran ran = folder.run({command});
        EXPECT_EQ(ran.code, 3) << command;
        EXPECT_THAT(ran.err, HasSubstr("is the server running"));
        EXPECT_EQ(count_of(ran.err, "\n"), 1U) << ran.err;
    }
}

TEST(ProgramBadInput, AnUnknownSchemeIsNamedWithTheKnownOnes) {
    ProgramFolder folder;
    folder.set("POSTROOM_URL", "orakel:shop");
    for (const std::string command : {"status", "relay"}) {
        const Ran ran = folder.run({command});
        EXPECT_EQ(ran.code, 5) << command;
        EXPECT_THAT(ran.err, HasSubstr("unknown scheme 'orakel'; known: "));
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

TEST(ProgramBadInput, ReadingCommandsMakeNoDatabase) {
    const ProgramFolder folder;
    EXPECT_EQ(folder.run({"status"}).code, 4);
    EXPECT_FALSE(std::filesystem::exists(folder / "postroom.db"));
}

}  // namespace
}  // namespace postroom::test
