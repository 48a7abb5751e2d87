// Units of several threads in one transaction: who shares a commit, and who hears of which failure.
#include "sql/write_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace postroom::sql::write_group_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// What happens on the connections, in order. Written by one thread at a time: that is what is
// tested.
struct Script {
    std::vector<std::string> log;
    std::function<void()> on_begin = [] {};
    std::function<void()> on_commit = [] {};
};

class Fake final : public Connection {
public:
    explicit Fake(Script& script) : script_(script) {}

    void run(Bracket, std::span<const Call> calls, const OnRow& on_row) override {
        step("join", calls, on_row);
    }
    void run_open(std::span<const Call> calls, const OnRow& on_row) override {
        step("first", calls, on_row);
    }
    void begin() override {
        script_.log.emplace_back("begin");
        script_.on_begin();
        open_ = true;
    }
    void commit() override {
        script_.log.emplace_back("commit");
        script_.on_commit();
        open_ = false;
    }
    void rollback() override {
        script_.log.emplace_back("rollback");
        open_ = false;
    }
    bool in_transaction() const override { return open_; }
    SqlRows execute(const SqlStatement&) override { return {}; }
    void execute_script(const std::string&) override {}
    bool healthy() const override { return true; }

private:
    // The calls of a unit are its name; it does its work as if that came in as a row.
    void step(const std::string& how, std::span<const Call> calls, const OnRow& on_row) {
        script_.log.push_back(how + " " + calls.front().statement->sql);
        on_row(0, NoRow());
    }

    class NoRow final : public Row {
        bool null(int) const override { return true; }
        std::int64_t integer(int) const override { return 0; }
        std::string_view text(int) const override { return {}; }
        std::string_view blob(int) const override { return {}; }
        Uuid uuid(int) const override { return {}; }
        Instant time(int) const override { return {}; }
    };

    Script& script_;
    bool open_ = false;
};

// What became of a unit: "committed", "alone", or the error.
using Fate = std::string;

class WriteGroupTest : public testing::Test {
protected:
    // Whoever stands in line has waited for long. Who shares is not decided by how long the machine
    // lets a leader stand.
    explicit WriteGroupTest(const WriteGroup::Waits& waits = {.begin = 0s,
                                                              .urgent = 24h,
                                                              .sharing = 24h})
        : group_(pool_, waits) {}

    // Brings a unit of this name; `work` is what it does.
    Fate bring(
        const std::string& name, const std::function<void()>& work = [] {}) {
        const Statement statement{.sql = name, .names = {}};
        const Params params;
        const std::vector<Call> calls{{&statement, &params}};
        const std::function<void()> restart = [] {};
        const OnRow on_row = [&](std::size_t, const Row&) { work(); };
        try {
            return group_.run({.calls = calls, .restart = restart, .on_row = on_row}) ? "committed"
                                                                                      : "alone";
        } catch (const Error& error) {
            return std::string(to_string(error.kind())) + ": " + error.what();
        }
    }

    // Waits until so many stand in line.
    void await_line(std::size_t count) const {
        while (group_.waiting() < count) std::this_thread::sleep_for(100us);
    }

    // The fates of a leader "a" and of "b", "c": they come while the leader is at work, one after
    // the other.
    std::vector<Fate> bring_three(const std::function<void()>& work_of_b = [] {}) {
        std::vector<Fate> fates(3);
        std::vector<std::jthread> threads;
        fates[0] = bring("a", [&] {
            threads.emplace_back([&] { fates[1] = bring("b", work_of_b); });
            await_line(1);
            threads.emplace_back([&] { fates[2] = bring("c"); });
            await_line(2);
        });
        threads.clear();
        return fates;
    }

    [[noreturn]] static void fail(ErrorKind kind) { throw Error(kind, "told"); }

    Script script_;
    Pool pool_{[this] { return std::make_unique<Fake>(script_); },
               {.connections_max = 4, .wait = 10s}};
    WriteGroup group_;
};

// Where nobody has waited for long enough to be refused, and nothing urgent waits at all.
class WriteGroupOfLateComersTest : public WriteGroupTest {
protected:
    WriteGroupOfLateComersTest() : WriteGroupTest({.begin = 24h, .urgent = 0s, .sharing = 24h}) {}
};

// Where a leader takes nobody along.
class WriteGroupWithoutPatienceTest : public WriteGroupTest {
protected:
    WriteGroupWithoutPatienceTest() : WriteGroupTest({.begin = 0s, .urgent = 24h, .sharing = 0s}) {}
};

TEST_F(WriteGroupWithoutPatienceTest, WhoComesTooLateHasTheNextTransaction) {
    EXPECT_THAT(bring_three(), ElementsAre("committed", "committed", "committed"));
    EXPECT_THAT(script_.log, ElementsAre("begin", "first a", "commit", "begin", "first b", "commit",
                                         "begin", "first c", "commit"));
}

TEST_F(WriteGroupTest, OneAloneHasATransactionOfItsOwn) {
    EXPECT_EQ(bring("a"), "committed");
    EXPECT_EQ(bring("b"), "committed");
    EXPECT_THAT(script_.log,
                ElementsAre("begin", "first a", "commit", "begin", "first b", "commit"));
}

TEST_F(WriteGroupTest, ThreadsThatComeMeanwhileShareTheCommit) {
    EXPECT_THAT(bring_three(), ElementsAre("committed", "committed", "committed"));
    EXPECT_THAT(script_.log, ElementsAre("begin", "first a", "join b", "join c", "commit"));
}

TEST_F(WriteGroupTest, OneOfTheThreadsFailsByItself) {
    EXPECT_THAT(bring_three([] { fail(ErrorKind::rejected); }),
                ElementsAre("committed", "rejected: told", "committed"));
    EXPECT_THAT(script_.log, ElementsAre("begin", "first a", "join b", "join c", "commit"));
}

TEST_F(WriteGroupTest, ALeaderThatFailsPassesOnToTheOtherThreads) {
    std::vector<Fate> fates(2);
    std::jthread second;
    fates[0] = bring("a", [&] {
        second = std::jthread([&] { fates[1] = bring("b"); });
        await_line(1);
        fail(ErrorKind::rejected);
    });
    second.join();
    EXPECT_THAT(fates, ElementsAre("rejected: told", "committed"));
    EXPECT_THAT(script_.log,
                ElementsAre("begin", "first a", "rollback", "begin", "first b", "commit"));
}

TEST_F(WriteGroupTest, AnUnknownOutcomeIsToldToAllThreads) {
    script_.on_commit = [] { fail(ErrorKind::outcome_unknown); };
    const std::string unknown = std::string(to_string(ErrorKind::outcome_unknown)) + ": told";
    EXPECT_THAT(bring_three(), ElementsAre(unknown, unknown, unknown));
}

TEST_F(WriteGroupTest, ACommitThatDidNotHappenIsTriedByEachThreadAlone) {
    script_.on_commit = [] { fail(ErrorKind::unavailable); };
    EXPECT_THAT(bring_three(), ElementsAre("alone", "alone", "alone"));
    EXPECT_THAT(script_.log,
                ElementsAre("begin", "first a", "join b", "join c", "commit", "rollback"));
}

TEST_F(WriteGroupTest, ADatabaseThatFailsBreaksTheGroupOfThreads) {
    // "c" had not been reached; it leads the next one.
    EXPECT_THAT(bring_three([] { fail(ErrorKind::unavailable); }),
                ElementsAre("alone", "alone", "committed"));
    EXPECT_THAT(script_.log, ElementsAre("begin", "first a", "join b", "rollback", "begin",
                                         "first c", "commit"));
}

TEST_F(WriteGroupTest, WhoWaitsForALockThatIsNotToBeHadHearsItWithTheOtherThreads) {
    std::vector<std::jthread> threads;
    std::vector<Fate> fates(2);
    script_.on_begin = [&] {
        threads.emplace_back([&] { fates[0] = bring("b"); });
        await_line(1);
        threads.emplace_back([&] { fates[1] = bring("c"); });
        await_line(2);
        fail(ErrorKind::conflict);
    };
    EXPECT_EQ(bring("a"), "conflict: told");
    threads.clear();
    EXPECT_THAT(fates, ElementsAre("conflict: told", "conflict: told"));
    EXPECT_THAT(script_.log, ElementsAre("begin"));
}

TEST_F(WriteGroupTest, ATransactionInLineIsNotOvertakenByThreadsThatCameLater) {
    std::vector<std::jthread> threads;
    bring("a", [&] {
        threads.emplace_back([&] { bring("b"); });
        await_line(1);
        threads.emplace_back([&] {
            const WriteGroup::Turn turn(group_);
            script_.log.emplace_back("own transaction");
        });
        await_line(2);
        threads.emplace_back([&] { bring("c"); });
        await_line(3);
    });
    threads.clear();
    EXPECT_THAT(script_.log, ElementsAre("begin", "first a", "join b", "commit", "own transaction",
                                         "begin", "first c", "commit"));
}

TEST_F(WriteGroupTest, AnUrgentTurnComesBeforeThreadsInLine) {
    std::vector<std::jthread> threads;
    const auto urgent = [&](const std::string& name) {
        const WriteGroup::Turn turn(group_, true);
        script_.log.push_back(name);
    };
    bring("a", [&] {
        threads.emplace_back([&] { bring("b"); });
        await_line(1);
        threads.emplace_back([&] { urgent("renewal"); });
        await_line(2);
        threads.emplace_back([&] { urgent("second renewal"); });
        await_line(3);
    });
    threads.clear();
    EXPECT_THAT(script_.log, ElementsAre("begin", "first a", "commit", "renewal", "second renewal",
                                         "begin", "first b", "commit"));
}

TEST_F(WriteGroupOfLateComersTest, AnUrgentTurnGoesAheadOfAThreadThatIsStuck) {
    std::jthread second;
    {
        const WriteGroup::Turn stuck(group_);
        { const WriteGroup::Turn urgent(group_, true); }
        // The turn was not its own, and is not passed on.
        EXPECT_EQ(group_.waiting(), 0U);
        second = std::jthread([&] { bring("b"); });
        await_line(1);
        EXPECT_THAT(script_.log, IsEmpty());
    }
    second.join();
    EXPECT_THAT(script_.log, ElementsAre("begin", "first b", "commit"));
}

TEST_F(WriteGroupOfLateComersTest, AThreadThatCameLateTriesByItself) {
    std::jthread second;
    Fate fate;
    int begun = 0;
    script_.on_begin = [&] {
        if (begun++ > 0) return;
        second = std::jthread([&] { fate = bring("b"); });
        await_line(1);
        fail(ErrorKind::conflict);
    };
    EXPECT_EQ(bring("a"), "conflict: told");
    second.join();
    EXPECT_EQ(fate, "committed");
    EXPECT_THAT(script_.log, ElementsAre("begin", "begin", "first b", "commit"));
}

TEST_F(WriteGroupTest, ATurnThatCannotBeginIsRefusedToThreadsInLine) {
    std::jthread second;
    Fate fate;
    {
        WriteGroup::Turn turn(group_);
        second = std::jthread([&] { fate = bring("b"); });
        await_line(1);
        turn.refuse(Error(ErrorKind::rejected, "no such table"));  // that is nobody else's concern
        EXPECT_EQ(group_.waiting(), 1U);
        turn.refuse(Error(ErrorKind::conflict, "locked"));
    }
    second.join();
    EXPECT_EQ(fate, "conflict: locked");
    EXPECT_THAT(script_.log, IsEmpty());
    EXPECT_EQ(bring("c"), "committed");
}

}  // namespace
}  // namespace postroom::sql::write_group_test
