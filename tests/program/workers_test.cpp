// Who is at work, what a destination that is down looks like to an operator, and messages that need
// not wait any longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::workers_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::chrono::seconds patience = 90s;

class WorkersOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.good({"migrate", "up"});
    }

    // By a list and by the message itself, for people, for programs, and through the relay.
    void expect_messages_name(const std::string& sentence, const std::string& id) const {
        EXPECT_TRUE(eventually({"list"}, "(waits for " + sentence + ", down for "));
        const std::string url = text_member(folder.read("err"), "url");
        EXPECT_TRUE(eventually({"list", "--remote", url}, "(waits for " + sentence));
        const std::string member =
            "\"waits_for\":{\"destination\":\"http://127.0.0.1:1\",\"error\":";
        EXPECT_TRUE(eventually({"list", "--json"}, member));
        EXPECT_TRUE(eventually({"show", id, "--json"}, member));
        EXPECT_TRUE(eventually({"show", id}, sentence + ", down for "));
        std::string narrow;
        EXPECT_TRUE(wait_until(
            [&] {
                narrow = folder.on_terminal({"list"}).out;
                return count_of(narrow, "(destination is down)") == 1;
            },
            patience, 200ms));
        EXPECT_EQ(count_of(narrow, "waits for http://127.0.0.1:1: Connection refused"), 1U)
            << narrow;
        EXPECT_LE(longest_line(narrow), 80U) << narrow;
        const std::string screen = folder.on_terminal({"top"}, "q").out;
        EXPECT_TRUE(count_of(screen, "next probe in") + count_of(screen, "being probed") > 0)
            << screen;
    }

    bool eventually(const std::vector<std::string>& command, const std::string& part) const {
        return wait_until([&] { return folder.good(command).find(part) != std::string::npos; },
                          patience, 200ms);
    }
};

TEST_P(WorkersOn, ADestinationThatIsDownIsNamedByEveryCommand) {
    // Nobody listens on port 1.
    folder.write("postroom.toml",
                 "[sinks.orders]\ntype = \"http\"\nurl = \"http://127.0.0.1:1/in\"\n"
                 "allow_networks = [\"127.0.0.0/8\"]\n");
    const std::string id = enqueue("order.placed");
    EXPECT_THAT(folder.good({"explain", id}), HasSubstr("nobody is at work here"));
    ChildProcess relay = folder.start({"relay"});
    const std::string down = "http://127.0.0.1:1: ";
    // Now and then it is probed with the message, which is being delivered then.
    EXPECT_TRUE(eventually({"explain", id}, "waits for " + down));
    EXPECT_TRUE(eventually({"explain", id}, ", down for "));
    EXPECT_THAT(folder.good({"status"}), HasSubstr("main: the outbox waits for " + down));
    EXPECT_THAT(folder.good({"status", "--json"}),
                AllOf(HasSubstr("\"workers\":1"),
                      HasSubstr("\"down\":[{\"destination\":\"http://127.0.0.1:1\"")));
    expect_messages_name(down + "Connection refused", id);
    // What else it finds wrong with a test server is another matter.
    EXPECT_THAT(
        folder.run({"doctor", "--json"}).out,
        AllOf(HasSubstr("wait for " + down),
              HasSubstr("\"about\":\"sinks.orders\",\"check\":\"destination\",\"health\":\"bad\","
                        "\"what\":\"" +
                        down)));
    EXPECT_THAT(folder.good({"workers"}),
                AllOf(HasSubstr("PROCESS"), HasSubstr("waits for " + down)));
    EXPECT_THAT(
        folder.good({"workers", "--json"}),
        AllOf(HasSubstr("\"topics\":[\"*\"]"), HasSubstr("\"circuits\":[{\"destination\"")));
    EXPECT_TRUE(stop(relay));
    EXPECT_EQ(folder.good({"workers", "--json"}), "[]\n") << "it signed off";
}

TEST_P(WorkersOn, RetryNowAsksAndLeavesALineInTheAuditLog) {
    const std::string waiting = enqueue("order.placed");
    // A relay without a handler for the topic abandons the message.
    ChildProcess relay = folder.start({"relay", "--set", "relay.unroutable=retry", "--set",
                                       "routes.0.topic=nothing", "--set", "routes.0.sink=stdout"});
    EXPECT_TRUE(eventually({"show", waiting, "--json"}, "\"attempts\":[{"));
    EXPECT_TRUE(stop(relay));
    const std::string schema = on("postgres") ? "infra." : "";
    sql("UPDATE " + schema + "outbox_waiting SET available_at = " +
        (on("sqlite") ? "32472144000000000" : "'2999-01-01 00:00:00'"));
    EXPECT_THAT(folder.good({"show", waiting}),
                AllOf(HasSubstr("FAILED AT"), HasSubstr("no handler for topic 'order.placed'")));
    EXPECT_EQ(folder.run({"retry-now", "--all"}).code, 2) << "there is no terminal to ask on";
    EXPECT_EQ(folder.good({"retry-now", "--all", "--yes"}), "1 message is due now\n");
    EXPECT_EQ(folder.good({"retry-now", waiting, "--json"}),
              "{\"matched\":1,\"retried\":0,\"dry_run\":false}\n")
        << "it need not wait any more";
    const std::string table = schema + "outbox_audit";
    EXPECT_EQ(one_value("SELECT count(*) FROM " + table +
                        " WHERE what = 'retry-now' AND who LIKE "
                        "'%@%'"),
              "4")
        << "when each begins and when it ends";
    EXPECT_EQ(one_value("SELECT target FROM " + table + " ORDER BY id LIMIT 1"),
              "outbox state='ready'");
}

POSTROOM_ON_ALL_DATABASES(WorkersOn);

}  // namespace
}  // namespace postroom::test::workers_test
