// The program asks a running relay instead of a database, and may do there what the relay allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/program_on.hpp"
#include "support/wait_until.hpp"

namespace postroom::test::remote_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RemoteOn : public ProgramOn {
protected:
    // A dead message, and a relay that serves; returns the id of the message.
    std::string serve(const std::vector<std::string>& settings = {}) {
        folder.good({"migrate", "up"});
        std::string id = enqueue_dead("order.placed");
        std::vector<std::string> words{"relay",
                                       "--set",
                                       "admin.listen=127.0.0.1:0",
                                       "--set",
                                       "routes.0.topic=nothing",
                                       "--set",
                                       "routes.0.sink=stdout"};
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        relay_.emplace(folder.start(words));
        EXPECT_TRUE(wait_for_log("ADMIN_READY")) << folder.read("err");
        url_ = text_member(folder.read("err"), "url");
        return id;
    }

    Ran remote(std::vector<std::string> words) const {
        words.insert(words.end(), {"--remote", url_});
        return folder.run(words);
    }

private:
    std::optional<ChildProcess> relay_;
    std::string url_;
};

TEST_P(RemoteOn, LooksWithoutAToken) {
    const std::string id = serve();
    // A search gives up after a tenth of a second, which a machine that stands still may take.
    const auto lists_it = [&] {
        return remote({"list", "--state", "dead", "--json"}).out.find(id) != std::string::npos;
    };
    EXPECT_TRUE(wait_until(lists_it, std::chrono::seconds{60}));
    EXPECT_THAT(remote({"explain", id}).out, HasSubstr("dead"));
    // Of what the relay saw when it looked last.
    EXPECT_TRUE(wait_until(
        [&] {
            return count_of(remote({"status", "--json"}).out, "\"dead\":1") > 0;
        },
        std::chrono::seconds{60}));
    const Ran redriven = remote({"redrive", id});
    EXPECT_NE(redriven.code, 0);
    EXPECT_THAT(redriven.err, AllOf(HasSubstr("the role operator"), HasSubstr("admin.anonymous")));
    EXPECT_THAT(remote({"pause", "order.*"}).err, HasSubstr("the role operator"));
}

// A proxy would read the token, and cannot reach this machine's relay anyway.
TEST_P(RemoteOn, ARelayOnThisMachineIsNotAskedThroughAProxy) {
    serve();
    for (const std::string name : {"http_proxy", "all_proxy", "ALL_PROXY"})
        folder.set(name, "http://127.0.0.1:9");
    const Ran ran = remote({"status"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
}

TEST(RemoteToken, WarnsWhenTheTokenGoesUnencryptedToAnotherMachine) {
    ProgramFolder folder;
    EXPECT_THAT(folder.run({"status", "--remote", "http://relay.invalid:8025"}).err,
                Not(HasSubstr("unencrypted")));
    folder.set("POSTROOM_TOKEN", "hush");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"status", "--remote", "http://relay.invalid:8025"},
          {"healthcheck", "http://relay.invalid:8025"}}) {
        const Ran ran = folder.run(words);
        EXPECT_EQ(ran.code, 3);
        EXPECT_EQ(count_of(ran.err, "unencrypted"), 1U) << ran.err;
        EXPECT_THAT(ran.err, Not(HasSubstr("hush")));
    }
}

TEST_P(RemoteOn, AFilterIsWhatTheRelaysAuditLogHas) {
    serve({"admin.anonymous=operator"});
    EXPECT_THAT(remote({"discard", "--topic", "order.placed", "--yes"}).out,
                HasSubstr("1 message discarded"));
    const std::string table = on("postgres") ? "infra.outbox_audit" : "outbox_audit";
    EXPECT_EQ(one_value("SELECT count(*) FROM " + table +
                        " WHERE what = 'discard' AND target LIKE '%topic=order.placed%' AND "
                        "outcome IN ('begun', 'done')"),
              "2");
}

TEST_P(RemoteOn, TheDeadOfOneErrorAreTheRelaysToFindAndToChange) {
    const std::string id = serve({"admin.anonymous=operator"});
    const std::string other = "0123456789abcdef";
    const std::string fingerprint =
        text_member(remote({"list", "--state", "dead", "--json"}).out, "fingerprint");
    EXPECT_THAT(remote({"list", "--fingerprint", fingerprint}).out, HasSubstr(id));
    EXPECT_THAT(remote({"list", "--fingerprint", other}).out, HasSubstr("no such messages"));
    EXPECT_THAT(remote({"redrive", "--fingerprint", fingerprint, "--dry-run"}).out,
                HasSubstr("would redrive 1 message"));
    EXPECT_THAT(remote({"discard", "--fingerprint", other, "--yes"}).out,
                HasSubstr("0 messages discarded"));
    EXPECT_THAT(remote({"redrive", "--fingerprint", fingerprint}).out,
                HasSubstr("1 message redriven"));
}

TEST_P(RemoteOn, ChangesWhereTheRelayAllowsIt) {
    const std::string id = serve({"admin.anonymous=operator"});
    EXPECT_THAT(remote({"pause", "order.*"}).out, HasSubstr("'order.*' is paused"));
    EXPECT_THAT(remote({"status"}).out, HasSubstr("'order.*' has been paused for"));
    EXPECT_THAT(remote({"redrive", id}).out, HasSubstr("1 message redriven"));
    // The relay has it in its hands for a moment before it lets it rest.
    EXPECT_TRUE(wait_until(
        [&] {
            return count_of(remote({"explain", id}).out, "'postroom resume \"order.*\"'") == 1;
        },
        std::chrono::seconds{90}, std::chrono::milliseconds{100}));
    EXPECT_THAT(remote({"resume", "order.*"}).out, HasSubstr("'order.*' is resumed"));
    EXPECT_THAT(remote({"status"}).out, Not(HasSubstr("paused")));
}

TEST_P(RemoteOn, MessagesThatWaitNeedNotWaitAnyLonger) {
    serve({"admin.anonymous=operator"});
    const Ran ran = remote({"retry-now", "--topic", "order.placed", "--yes"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "0 messages are due now\n") << "the only one is dead";
    const std::string waiting = enqueue("order.placed", {"--due-time", "2999-01-01T00:00:00Z"});
    EXPECT_EQ(remote({"retry-now", waiting}).code, 0);
    const std::string table = on("postgres") ? "infra.outbox_audit" : "outbox_audit";
    EXPECT_NE(one_value("SELECT count(*) FROM " + table + " WHERE what = 'retry-now'"), "0");
}

INSTANTIATE_TEST_SUITE_P(Sqlite, RemoteOn, testing::Values("sqlite"));
INSTANTIATE_TEST_SUITE_P(Postgres, RemoteOn, testing::Values("postgres"));

}  // namespace
}  // namespace postroom::test::remote_test
