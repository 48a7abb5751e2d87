// Group commit on a real file: threads that enqueue and settle share transactions, and each gets
// what is its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "postroom/backend/sqlite.hpp"
#include "postroom/error.hpp"
#include "postroom/outbox.hpp"
#include "support/scale.hpp"
#include "support/temp_dir.hpp"

namespace postroom::sqlite::group_commit_test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

class SqliteGroupCommit : public testing::Test {
protected:
    SqliteGroupCommit() {
        // FAIL, unlike ABORT, leaves what the statement has done so far: here the row itself.
        execute(
            "CREATE TRIGGER refuse AFTER INSERT ON outbox_live WHEN NEW.topic = 'refused' "
            "BEGIN SELECT RAISE(FAIL, 'refused by trigger'); END");
    }

    void execute(const std::string& sql) const {
        const auto tx = store_->begin();
        tx->execute({.sql = sql, .params = {}});
        tx->commit();
    }

    // Every fifth is refused. What was promised goes into `kept`.
    void enqueue_some(std::uint64_t count, std::set<std::string>& kept) const {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (i % 5 != 4) {
                kept.insert(outbox_.enqueue({.topic = "t", .payload = "x"}).message_id.str());
                continue;
            }
            try {
                outbox_.enqueue({.topic = "refused", .payload = "x"});
                ADD_FAILURE() << "nothing was refused";
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::rejected);
                EXPECT_THAT(error.what(), HasSubstr("refused by trigger"));
            }
        }
    }

    // Claims and acknowledges until `enough`; every claim has one message that stays.
    void settle_some(const std::atomic<bool>& enough, std::set<std::string>& acked) const {
        const OwnerToken owner = OwnerToken::generate();
        while (!enough) {
            std::vector<Lease> leases;
            std::vector<std::string> ids;
            for (const Message& message : outbox_.claim(owner, 1min, 7)) {
                leases.push_back(message.lease.value());
                ids.push_back(message.message_id.str());
            }
            if (leases.empty()) {
                std::this_thread::sleep_for(1ms);
                continue;
            }
            EXPECT_THAT(outbox_.abandon(std::vector{leases.back()}, "later", 1h),
                        Each(Settled::ready));
            leases.pop_back();
            ids.pop_back();
            EXPECT_THAT(outbox_.ack(leases), Each(Settled::done));
            acked.insert(ids.begin(), ids.end());
        }
    }

    const test::TempDir directory_;
    const std::unique_ptr<Store> store_ = open_store((directory_ / "shop.db").string(),
                                                     {.deploy_schema = true, .keep_history = true});
    const Outbox outbox_{*store_};
};

TEST_F(SqliteGroupCommit, ThreadsEnqueueAndSettleWhileUnitsFail) {
    constexpr std::size_t writers = 6;
    constexpr std::size_t settlers = 2;
    const std::uint64_t each = test::scaled(1000, 100);
    std::vector<std::set<std::string>> kept(writers);
    std::vector<std::set<std::string>> acked(settlers);
    std::atomic<bool> enough = false;
    {
        std::vector<std::jthread> settling;
        for (auto& mine : acked) settling.emplace_back([&] { settle_some(enough, mine); });
        {
            std::vector<std::jthread> writing;
            for (auto& mine : kept) writing.emplace_back([&] { enqueue_some(each, mine); });
        }
        enough = true;
    }

    std::set<std::string> promised;
    for (const auto& mine : kept) promised.insert(mine.begin(), mine.end());
    EXPECT_EQ(promised.size(), writers * (each - each / 5));
    std::size_t acknowledged = 0;
    for (const auto& mine : acked) acknowledged += mine.size();
    for (const auto& mine : acked)
        for (const std::string& id : mine) EXPECT_EQ(promised.erase(id), 1U) << id;
    // What is left is there, and nothing else.
    const auto left = outbox_.counts();
    EXPECT_EQ(left.ready + left.in_progress, promised.size());
    EXPECT_EQ(left.dead, 0U);
    const auto tx = store_->begin();
    const auto count = [&](const std::string& where) {
        const SqlRows rows = tx->execute({.sql = "SELECT count(*) FROM " + where, .params = {}});
        return std::stoull(rows.at(0).at(0).value());
    };
    EXPECT_EQ(count("outbox_live WHERE topic = 'refused'"), 0U);
    EXPECT_EQ(count("outbox_done"), acknowledged);
}

TEST_F(SqliteGroupCommit, ThreadsThatEnqueueDoNotKeepALeaseFromBeingRenewed) {
    constexpr Duration lease = 30s;  // far longer than a busy machine needs for its turn
    outbox_.enqueue({.topic = "t", .payload = "held"});
    const std::vector<Message> held = outbox_.claim(OwnerToken::generate(), lease, 1);
    ASSERT_EQ(held.size(), 1U);
    const std::vector leases{held.front().lease.value()};

    std::atomic<bool> enough = false;
    std::vector<std::jthread> writing;
    for (int i = 0; i < 16; ++i)
        writing.emplace_back([&] {
            while (!enough) outbox_.enqueue({.topic = "t", .payload = "x"});
        });
    // A renewal that fails ends the test, and the threads with it.
    auto slowest = 0ns;
    bool kept = true;
    for (std::uint64_t i = test::scaled(60, 20); i > 0 && kept; --i) {
        const auto asked = std::chrono::steady_clock::now();
        kept = outbox_.extend(leases, lease).front();
        slowest = std::max(slowest, std::chrono::steady_clock::now() - asked);
        std::this_thread::sleep_for(50ms);
    }
    enough = true;
    writing.clear();
    EXPECT_TRUE(kept);
    EXPECT_LT(slowest, lease);
}

TEST_F(SqliteGroupCommit, ThreadsThatWaitForALockAllHearOfTheTimeout) {
    const auto patient =
        open_store((directory_ / "shop.db").string(), {.statement_timeout = 200ms});
    const Outbox outbox(*patient);
    const auto lock = store_->begin();
    std::atomic<int> conflicts = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 12; ++i)
            threads.emplace_back([&] {
                try {
                    outbox.enqueue({.topic = "t", .payload = "x"});
                } catch (const Error& error) {
                    conflicts += error.kind() == ErrorKind::conflict ? 1 : 0;
                }
            });
    }
    EXPECT_EQ(conflicts, 12);
    lock->rollback();
    EXPECT_EQ(outbox_.counts().ready, 0U);
    outbox.enqueue({.topic = "t", .payload = "x"});
    EXPECT_EQ(outbox_.counts().ready, 1U);
}

}  // namespace
}  // namespace postroom::sqlite::group_commit_test
