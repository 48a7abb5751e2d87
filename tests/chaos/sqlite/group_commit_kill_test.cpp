// A process whose threads share their commits is killed at any moment: what each of them was told
// holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "postroom/backend/sqlite.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test::group_commit_kill_test {
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

class SqliteGroupCommitKill : public testing::Test {
protected:
    std::string path() const { return (folder_ / "chaos.db").string(); }
    std::string journal() const { return (folder_ / "journal").string(); }

    SqlRows rows(const std::string& sql) const {
        const auto tx = store_->begin();
        return tx->execute({.sql = sql, .params = {}});
    }

    void deploy() {
        store_ = sqlite::open_store(path(), {.deploy_schema = true, .keep_history = true});
        const auto tx = store_->begin();
        tx->execute(
            {.sql = "CREATE TRIGGER refuse AFTER INSERT ON outbox_live WHEN NEW.topic = 'refused' "
                    "BEGIN SELECT RAISE(FAIL, 'refused by trigger'); END",
             .params = {}});
        tx->commit();
    }

    // Until it has made some promises more.
    void run_and_kill() const {
        const Promises before = read_journal(journal());
        ChildProcess child({.program = program_path("group_child"),
                            .arguments = {"sqlite://" + path(), journal()}});
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < deadline) {
            const Promises now = read_journal(journal());
            if (now.kept.size() > before.kept.size() + 30 &&
                now.acked.size() > before.acked.size() + 5)
                break;
            if (!child.running()) throw std::runtime_error("the child has ended by itself");
            std::this_thread::sleep_for(1ms);
        }
        child.kill(SIGKILL);
        ASSERT_TRUE(child.wait(60s).has_value());
    }

    TempDir folder_;
    std::unique_ptr<Store> store_;
};

TEST_F(SqliteGroupCommitKill, WhatManyWritersWereToldHolds) {
    deploy();
    const std::uint64_t kills = scaled(100, 8);
    for (std::uint64_t i = 0; i < kills; ++i) run_and_kill();

    std::map<std::string, int> times;
    std::set<std::string> open;
    for (const auto& row : rows("SELECT message_id FROM outbox_live "
                                "UNION ALL SELECT message_id FROM outbox_waiting")) {
        open.insert(row.at(0).value());
        ++times[row.at(0).value()];
    }
    for (const auto& row : rows("SELECT message_id FROM outbox_done")) ++times[row.at(0).value()];

    const Promises promises = read_journal(journal());
    EXPECT_GT(promises.kept.size(), kills * 30);
    for (const std::string& id : promises.kept) EXPECT_EQ(times[id], 1) << id;
    for (const std::string& id : promises.acked) EXPECT_FALSE(open.contains(id)) << id;
    EXPECT_THAT(rows("SELECT 1 FROM outbox_live WHERE topic = 'refused'"), IsEmpty());
    EXPECT_EQ(rows("PRAGMA integrity_check").at(0).at(0), "ok");
}

}  // namespace
}  // namespace postroom::test::group_commit_kill_test
