// A process whose threads share their commits is killed at any moment: what each of them was told
// holds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "chaos/chaos_test.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

struct Promises {
    std::set<std::string> kept;
    std::set<std::string> acked;
};

// A last line without line end was cut by the kill.
Promises read_journal(const std::string& path) {
    Promises out;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line) && !file.eof();) {
        if (line.starts_with("kept ")) out.kept.insert(line.substr(5));
        if (line.starts_with("acked ")) out.acked.insert(line.substr(6));
    }
    return out;
}

class Writers {
public:
    Writers(const std::string& url, std::string journal)
        : url_(url), journal_(std::move(journal)) {}

    // Until it has made some promises more.
    void run_and_kill() const {
        const Promises before = read_journal(journal_);
        ChildProcess child({.program = program_path("group_child"), .arguments = {url_, journal_}});
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < deadline) {
            const Promises now = read_journal(journal_);
            if (now.kept.size() > before.kept.size() + 30 &&
                now.acked.size() > before.acked.size() + 5)
                break;
            if (!child.running()) throw std::runtime_error("the child has ended by itself");
            std::this_thread::sleep_for(1ms);
        }
        child.kill(SIGKILL);
        ASSERT_TRUE(child.wait(60s).has_value());
    }

private:
    const std::string url_;
    const std::string journal_;
};

TEST_P(GroupCommitTest, WhatManyWritersWereToldHoldsWhenTheyAreKilled) {
    database().refuse_topic("refused");
    const std::string journal = (folder() / "journal").string();
    const Writers writers(database().url(), journal);
    const std::uint64_t kills = scaled(100, 8);
    for (std::uint64_t i = 0; i < kills; ++i) writers.run_and_kill();

    // In one statement: a backend may still be moving what its writer had asked for.
    const auto table = [&](const char* name) { return database().table(name); };
    std::map<std::string, int> times;
    std::set<std::string> open;
    for (const auto& row : database().sql(
             fmt::format("SELECT message_id, 1 FROM {} UNION ALL SELECT message_id, 1 FROM {} "
                         "UNION ALL SELECT message_id, 0 FROM {}",
                         table("outbox_live"), table("outbox_waiting"), table("outbox_done")))) {
        if (row.at(1) == "1") open.insert(row.at(0).value());
        ++times[row.at(0).value()];
    }

    const Promises promises = read_journal(journal);
    EXPECT_GT(promises.kept.size(), kills * 30);
    for (const std::string& id : promises.kept) EXPECT_EQ(times[id], 1) << id;
    for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
    for (const std::string& id : promises.acked) EXPECT_FALSE(open.contains(id)) << id;
    EXPECT_EQ(database().count(fmt::format("SELECT count(*) FROM {} WHERE topic = 'refused'",
                                           table("outbox_live"))),
              0U);
    EXPECT_THAT(database().damage(), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
