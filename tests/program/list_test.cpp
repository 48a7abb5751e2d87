// Choosing messages from the command line, and being asked before many are gone for good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "program/e2e_peers.hpp"
#include "program/program_on.hpp"

namespace postroom::test::list_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ListOn : public ProgramOn {
protected:
    void SetUp() override {
        ProgramOn::SetUp();
        folder.good({"migrate", "up"});
    }

    std::string list(const std::vector<std::string>& options) const {
        std::vector<std::string> arguments{"list"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return folder.good(arguments);
    }
};

// In which of the two orders `first` and `second` stand in `text`.
bool stands_before(const std::string& text, const std::string& first, const std::string& second) {
    return text.find(first) < text.find(second);
}

TEST_P(ListOn, OpenMessagesComeNewestFirstAndDeliveredOnesWhenAskedFor) {
    const std::string dead = enqueue_dead("a");
    const std::string gone = enqueue("a");
    const std::string ready = enqueue("a");
    folder.good({"discard", gone});
    const std::string open = list({});
    EXPECT_THAT(open, AllOf(HasSubstr(dead), HasSubstr(ready), Not(HasSubstr(gone))));
    EXPECT_TRUE(stands_before(open, ready, dead));
    EXPECT_TRUE(stands_before(list({"--oldest-first"}), dead, ready));
    EXPECT_THAT(list({"--state", "all"}), AllOf(HasSubstr(dead), HasSubstr(gone)));
    const std::string message_id = text_member(folder.good({"show", gone, "--json"}), "message_id");
    EXPECT_THAT(list({"--message-id", message_id}), HasSubstr(gone));
}

TEST_P(ListOn, PagesGoOnWhereTheLastOneEnded) {
    const std::string first = enqueue("a");
    const std::string second = enqueue("a");
    const std::string third = enqueue("a");
    const std::string page = list({"--limit", "2"});
    EXPECT_THAT(page, AllOf(HasSubstr(third), HasSubstr(second), Not(HasSubstr(first))));
    const std::string seq =
        page.substr(page.find("--before-seq ") + std::string("--before-seq ").size());
    const std::string next = list({"--before-seq", seq.substr(0, seq.find('\n')), "--limit", "2"});
    EXPECT_THAT(next, AllOf(HasSubstr(first), Not(HasSubstr(second)), Not(HasSubstr("more"))));
    EXPECT_THAT(list({"--oldest-first", "--limit", "1"}), HasSubstr("--after-seq "));
    EXPECT_TRUE(stands_before(list({"--after-seq", "0"}), first, third)) << "as scripts page";
}

// Goal: a search that is cut short says how far it came, where no program takes it for a message,
// and goes on from there to the end.
TEST_P(ListOn, ASearchAmongManySaysHowFarItCame) {
    std::string lines = R"({"topic":"rare","payload":1})";
    for (int i = 0; i < 5000; ++i)
        lines +=
            "\n"
            R"({"topic":"a","payload":1})";
    folder.good({"enqueue", "--jsonl"}, lines);
    const std::vector<std::string> search{"list", "--topic", "rare", "--json", "--search-time"};
    std::vector<std::string> next = search;
    next.emplace_back("1us");
    Ran page = folder.run(next);
    EXPECT_EQ(page.out, "[]\n");
    int pages = 1;
    for (const std::string option = "--before-seq "; page.out == "[]\n" && pages < 10; ++pages) {
        const std::size_t at = page.err.find(option);
        ASSERT_NE(at, std::string::npos) << page.err;
        const std::string from = page.err.substr(at + option.size());
        next = search;
        for (const std::string& word :
             {std::string("1us"), std::string("--before-seq"), from.substr(0, from.find(','))})
            next.push_back(word);
        page = folder.run(next);
    }
    EXPECT_THAT(page.out, HasSubstr("rare"));
    EXPECT_EQ(page.err, "");
    EXPECT_THAT(list({"--topic", "rare", "--search-time", "0s"}), HasSubstr("rare"));
    EXPECT_THAT(folder.run({"list", "--search-time", "soon"}).err, HasSubstr("needs a duration"));
}

TEST_P(ListOn, EveryFieldChooses) {
    const std::string dead = enqueue_dead("nobody.reads.this");
    const std::string keyed = enqueue("a", {"--ordering-key", "k-1"});
    const std::string tenant = enqueue("a", {"--tenant-id", "north"});
    const std::string correlated = enqueue("a", {"--correlation-id", "c-1"});
    folder.good({"enqueue", "--jsonl"},
                R"({"topic":"cart.filled","payload":1,"aggregate_type":"cart"})");
    const auto only = [&](const std::string& shown, const std::vector<std::string>& options) {
        EXPECT_EQ(listed(options), 1U) << options.front();
        EXPECT_THAT(list(options), HasSubstr(shown));
    };
    only(keyed, {"--ordering-key", "k-1"});
    only(tenant, {"--tenant-id", "north"});
    only(correlated, {"--correlation-id", "c-1"});
    only("cart.filled", {"--aggregate-type", "cart"});
    EXPECT_EQ(listed({"--since", "1h"}), 5U);
    EXPECT_EQ(listed({"--until", "1h"}), 0U);
    EXPECT_EQ(listed({"--since", "2999-01-01T00:00:00Z"}), 0U);
    EXPECT_EQ(listed({"--until", "2999-01-01T00:00:00Z"}), 5U);
    only(dead, {"--error", "nobody.reads"});
    EXPECT_EQ(listed({"--error", "NOBODY.reads"}), 0U);
    const Ran wrong = folder.run({"list", "--since", "yesterday"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("--since needs a time such as"));
}

// Goal: nobody loses messages by a command that was mistyped. Method: the same command with a
// terminal and without one, and both answers.
TEST_P(ListOn, ManyAreNotGoneForGoodUnlessSomebodySaysSo) {
    enqueue("a");
    enqueue("a");
    const std::vector<std::string> discard{"discard", "--topic", "a", "--state", "ready"};
    const Ran unasked = folder.run(discard);
    EXPECT_EQ(unasked.code, 2);
    EXPECT_THAT(unasked.err, HasSubstr("discard asks first, and there is no terminal to ask on"));
    const Ran refused = folder.on_terminal(discard, "n");
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.out, HasSubstr("discard 2 ready messages of the outbox of store 'main' "
                                       "for good? [y/N]"));
    EXPECT_THAT(refused.out, AllOf(HasSubstr("nothing was done"), Not(HasSubstr("help errors"))));
    EXPECT_EQ(folder.on_terminal(discard, "").code, 1);
    EXPECT_EQ(listed({"--state", "ready"}), 2U);
    const Ran agreed = folder.on_terminal(discard, "y");
    EXPECT_EQ(agreed.code, 0) << agreed.out;
    EXPECT_THAT(agreed.out, HasSubstr("2 messages discarded"));
    EXPECT_EQ(listed({"--state", "ready"}), 0U);
    EXPECT_THAT(folder.on_terminal(discard, "n").out, HasSubstr("0 messages discarded"));

    const std::vector<std::string> purge{"purge", "--older-than", "0"};
    EXPECT_EQ(folder.run(purge).code, 2);
    EXPECT_THAT(folder.on_terminal(purge, "n").out, HasSubstr("purge 2 delivered messages"));
    EXPECT_EQ(listed(), 2U);
    EXPECT_THAT(folder.on_terminal(purge, "y").out, HasSubstr("2 messages purged"));
    EXPECT_EQ(listed(), 0U);
}

// Goal: one cause of death is dealt with by itself. Method: two kinds of errors; the ids in them
// differ, the fingerprint does not.
TEST_P(ListOn, AFingerprintChoosesTheDeadOfOneError) {
    const std::string first = enqueue("order.placed");
    const std::string second = enqueue("order.paid");
    folder.good({"enqueue", "--jsonl"},
                R"({"topic":"cart.filled","payload":1,"aggregate_type":"cart"})");
    ChildProcess relay = folder.start({"relay", "--set", "relay.unroutable=dead", "--set",
                                       "routes.0.topic=nothing", "--set", "routes.0.sink=stdout"});
    ASSERT_TRUE(wait_for_log("OUTBOX_WORKER_DEAD", 3));
    ASSERT_TRUE(stop(relay));
    const std::string fingerprint =
        text_member(folder.good({"show", first, "--json"}), "fingerprint");
    const std::vector<std::string> group{"--fingerprint", fingerprint};
    EXPECT_THAT(list(group),
                AllOf(HasSubstr(first), HasSubstr(second), Not(HasSubstr("cart.filled"))));
    EXPECT_THAT(list({"--fingerprint", fingerprint, "--topic", "order.paid"}),
                AllOf(HasSubstr(second), Not(HasSubstr(first))));
    EXPECT_THAT(list({"--fingerprint", "0123456789abcdef"}), HasSubstr("no such messages"));
    EXPECT_THAT(folder.good({"redrive", "--fingerprint", fingerprint, "--dry-run"}),
                HasSubstr("would redrive 2 messages"));
    EXPECT_THAT(
        folder.good({"discard", "--fingerprint", fingerprint, "--topic", "order.paid", "--yes"}),
        HasSubstr("1 message discarded"));
    EXPECT_THAT(folder.good({"redrive", "--fingerprint", fingerprint}),
                HasSubstr("1 message redriven"));
    EXPECT_EQ(listed({"--state", "dead"}), 1U) << "the cart died of something else";
    const std::string table = on("postgres") ? "infra.outbox_audit" : "outbox_audit";
    EXPECT_EQ(
        one_value("SELECT count(*) FROM " + table +
                  " WHERE what = 'redrive' AND target LIKE '%fingerprint=%" + fingerprint + "%'"),
        "2");
}

TEST_P(ListOn, AFingerprintThatIsNoneOrOfOthersThanTheDeadIsRefused) {
    for (const std::string wrong : {"", "503", "0123456789ABCDEF"}) {
        const Ran ran = folder.run({"redrive", "--fingerprint", wrong});
        EXPECT_EQ(ran.code, 2) << wrong;
        EXPECT_THAT(ran.err, HasSubstr("--fingerprint")) << wrong;
    }
    for (const std::string command : {"list", "discard"})
        EXPECT_THAT(
            folder.run({command, "--fingerprint", "0123456789abcdef", "--state", "ready"}).err,
            HasSubstr("goes with --state dead only"));
    EXPECT_EQ(folder.run({"retry-now", "--fingerprint", "0123456789abcdef"}).code, 2);
}

TEST_P(ListOn, APatternIsPausedAndResumedByTheSameText) {
    EXPECT_THAT(folder.good({"pause", "order.*", "--dry-run"}), HasSubstr("would be paused"));
    EXPECT_THAT(folder.good({"status"}), Not(HasSubstr("paused")));
    EXPECT_THAT(folder.good({"pause", "order.*"}), HasSubstr("'order.*' is paused"));
    EXPECT_THAT(folder.good({"status"}), HasSubstr("'order.*' has been paused for"));
    EXPECT_THAT(folder.good({"resume", "order.placed"}),
                HasSubstr("is not paused; 'order.*' holds it back"));
    EXPECT_THAT(folder.good({"resume", "order.*"}), HasSubstr("is resumed"));
    EXPECT_THAT(folder.good({"status"}), Not(HasSubstr("paused")));
}

POSTROOM_ON_ALL_DATABASES(ListOn);

}  // namespace
}  // namespace postroom::test::list_test
