// Messages of several threads in one statement: who shares it, and who hears of which failure.
#include "sql/enqueue_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/error.hpp"
#include "support/wait_until.hpp"

namespace postroom::sql::enqueue_group_test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

NewMessage message(const std::string& topic) {
    return {.topic = TopicName(topic), .payload = "x", .message_id = MessageId("id-of-" + topic)};
}

// A database that keeps the first two statements until it is let go, so that others gather.
class FakeDatabase {
public:
    using Topics = std::vector<std::string>;

    std::vector<EnqueueResult> write(std::span<const NewMessage* const> messages) {
        Topics topics;
        for (const NewMessage* one : messages) topics.emplace_back(one->topic.view());
        const std::size_t number = count_.fetch_add(1);
        if (number < 2) entered_.wait_for_release();
        on_write(topics);
        std::vector<EnqueueResult> results;
        for (const NewMessage* one : messages) results.push_back({.message_id = one->message_id});
        const base::MutexLock lock(mutex_);
        statements_.push_back(topics);
        return results;
    }

    void let_go() { entered_.release(); }
    std::size_t begun() const { return count_.load(); }
    std::vector<Topics> statements() const {
        const base::MutexLock lock(mutex_);
        return statements_;
    }

    std::function<void(const Topics&)> on_write = [](const Topics&) {};

private:
    class Gate {
    public:
        void wait_for_release() { open_.wait(false); }
        void release() {
            open_ = true;
            open_.notify_all();
        }

    private:
        std::atomic<bool> open_{false};
    };

    Gate entered_;
    std::atomic<std::size_t> count_{0};
    mutable base::Mutex mutex_;
    std::vector<Topics> statements_ POSTROOM_GUARDED_BY(mutex_);
};

class EnqueueGroupTest : public testing::Test {
protected:
    // What became of it: its id, or the error.
    std::string enqueue(const std::string& topic, const BornLease* born = nullptr) {
        const NewMessage one = message(topic);
        try {
            return group_.run({&one, 1}, born).at(0).message_id.str();
        } catch (const Error& error) {
            return std::string(to_string(error.kind())) + " " + error.what();
        }
    }

    // Two threads that lead, and behind them one for each of `topics`, in this order. Returns what
    // became of those.
    std::vector<std::string> enqueue_behind_two(const std::vector<std::string>& topics,
                                                const std::vector<const BornLease*>& born = {}) {
        std::vector<std::string> fates(topics.size());
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < 2; ++i) {
            threads.emplace_back([&] { enqueue("leader"); });
            EXPECT_TRUE(test::wait_until([&] { return database_.begun() == i + 1; }, 60s));
        }
        for (std::size_t i = 0; i < topics.size(); ++i) {
            threads.emplace_back(
                [&, i] { fates[i] = enqueue(topics[i], born.empty() ? nullptr : born[i]); });
            EXPECT_TRUE(test::wait_until([&] { return group_.waiting() == i + 1; }, 60s));
        }
        database_.let_go();
        threads.clear();
        return fates;
    }

    FakeDatabase database_;
    EnqueueGroup group_{[this](std::span<const NewMessage* const> messages, const BornLease*) {
        return database_.write(messages);
    }};
};

TEST_F(EnqueueGroupTest, WhoIsAloneWritesAlone) {
    database_.let_go();
    EXPECT_EQ(enqueue("a"), "id-of-a");
    EXPECT_EQ(enqueue("b"), "id-of-b");
    EXPECT_THAT(database_.statements(), ElementsAre(ElementsAre("a"), ElementsAre("b")));
}

TEST_F(EnqueueGroupTest, WhoComesWhileTwoWriteSharesTheNextStatement) {
    EXPECT_THAT(enqueue_behind_two({"a", "b", "c"}), ElementsAre("id-of-a", "id-of-b", "id-of-c"));
    std::vector<std::string> written;
    for (const auto& topics : database_.statements())
        written.insert(written.end(), topics.begin(), topics.end());
    EXPECT_THAT(written, UnorderedElementsAre("leader", "leader", "a", "b", "c"));
    EXPECT_THAT(database_.statements(), testing::Contains(SizeIs(testing::Ge(2U))));
}

// Method: a leader with all the time in the world, two behind it, and one who has been told.
TEST(EnqueueGroupGather, ALeaderWaitsForThoseWhoWereToldAMomentAgo) {
    FakeDatabase database;
    EnqueueGroup group{[&](std::span<const NewMessage* const> messages, const BornLease*) {
                           return database.write(messages);
                       },
                       {.gather_max = 60s, .stuck_after = 60s}};
    const auto enqueue = [&](const std::string& topic) {
        const NewMessage one = message(topic);
        group.run({&one, 1}, nullptr);
    };
    // One leader is through before the other ends: how many wrote last is the same each time.
    std::atomic<bool> one_is_through{false};
    std::atomic<int> ended{0};
    database.on_write = [&](const FakeDatabase::Topics& topics) {
        if (topics.front() == "leader" && ended.fetch_add(1) > 0) one_is_through.wait(false);
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            enqueue("leader");
            one_is_through = true;
            one_is_through.notify_all();
        });
        ASSERT_TRUE(test::wait_until([&] { return database.begun() == i + 1; }, 60s));
    }
    for (const char* const topic : {"a", "b", "c"})
        threads.emplace_back([&, topic] { enqueue(topic); });
    ASSERT_TRUE(test::wait_until([&] { return group.waiting() == 3; }, 60s));
    database.let_go();
    // Both leaders have been told; one of the three leads, and four wrote at the end of the last.
    ASSERT_TRUE(test::wait_until([&] { return group.waiting() == 2; }, 60s));
    EXPECT_EQ(database.begun(), 2U);
    enqueue("back again");
    threads.clear();
    EXPECT_THAT(database.statements(), testing::Contains(SizeIs(4)));
}

// A connection may be half dead and still be waited for. Nobody comes along who would notice: the
// one behind it does.
TEST_F(EnqueueGroupTest, ALeaderThatIsStuckKeepsNobodyElseWaiting) {
    enqueue_behind_two({"a", "b", "c"});  // three wrote last: one leads from now on
    std::atomic<bool> released{false};
    database_.on_write = [&](const FakeDatabase::Topics& topics) {
        if (topics.front() == "stuck") released.wait(false);
    };
    const std::size_t before = database_.begun();
    std::jthread stuck([&] { enqueue("stuck"); });
    ASSERT_TRUE(test::wait_until([&] { return database_.begun() == before + 1; }, 60s));
    auto behind = std::async(std::launch::async, [&] { return enqueue("behind"); });
    EXPECT_EQ(behind.wait_for(60s), std::future_status::ready);
    released = true;
    released.notify_all();
}

TEST(GatherPace, WaitsInVainBecomeRareUntilOneBringsAllIn) {
    GatherPace pace;
    std::vector<int> groups_without;
    for (int wait = 0; wait < 8; ++wait) {
        int groups = 0;
        while (!pace.waits()) ++groups;
        groups_without.push_back(groups);
        pace.waited(false);
    }
    EXPECT_THAT(groups_without, ElementsAre(0, 2, 4, 8, 16, 32, 64, 64));
    while (!pace.waits()) {
    }
    pace.waited(true);
    EXPECT_TRUE(pace.waits());
}

TEST_F(EnqueueGroupTest, AMessageThatIsRefusedIsRefusedAlone) {
    database_.on_write = [](const FakeDatabase::Topics& topics) {
        if (std::find(topics.begin(), topics.end(), "bad") != topics.end())
            throw Error(ErrorKind::rejected, "bad topic");
    };
    EXPECT_THAT(enqueue_behind_two({"a", "bad", "c"}),
                ElementsAre("id-of-a", "rejected bad topic", "id-of-c"));
}

TEST_F(EnqueueGroupTest, EverybodyOfAGroupHearsThatItsOutcomeIsUnknown) {
    std::atomic<int> lost{0};
    database_.on_write = [&](const FakeDatabase::Topics& topics) {
        if (topics.front() == "leader") return;
        lost += static_cast<int>(topics.size());
        throw Error(ErrorKind::outcome_unknown, "the connection broke");
    };
    EXPECT_THAT(enqueue_behind_two({"a", "b", "c"}), Each("outcome_unknown the connection broke"));
    EXPECT_EQ(lost, 3) << "each was sent once, and by nobody again";
}

// A message that is stored already would be stored twice by whoever tries again.
TEST_F(EnqueueGroupTest, ALeaderThatBreaksOffLeavesTheOutcomeOfItsFollowersUnknown) {
    database_.on_write = [&](const FakeDatabase::Topics& topics) {
        if (topics.size() > 1) throw std::bad_alloc();
    };
    std::vector<std::string> fates;
    std::atomic<int> broke_off{0};
    {
        std::vector<std::jthread> leaders;
        for (std::size_t i = 0; i < 2; ++i) {
            leaders.emplace_back([&] { enqueue("leader"); });
            ASSERT_TRUE(test::wait_until([&] { return database_.begun() == i + 1; }, 60s));
        }
        std::vector<std::jthread> threads;
        base::Mutex mutex;
        for (std::size_t i = 0; i < 3; ++i) {
            threads.emplace_back([&] {
                std::string fate = "broke off";
                try {
                    fate = enqueue("m");
                } catch (const std::bad_alloc&) {
                    ++broke_off;
                }
                const base::MutexLock lock(mutex);
                fates.push_back(fate);
            });
            ASSERT_TRUE(test::wait_until([&] { return group_.waiting() == i + 1; }, 60s));
        }
        database_.let_go();
        threads.clear();
    }
    EXPECT_GE(broke_off, 1);
    for (const std::string& fate : fates)
        EXPECT_TRUE(fate == "broke off" || fate == "id-of-m" || fate.starts_with("outcome_unknown"))
            << fate;
}

TEST_F(EnqueueGroupTest, MessagesWithAnotherLeaseDoNotShare) {
    const BornLease one{.lease_id = LeaseId(1)};
    const BornLease other{.lease_id = LeaseId(2)};
    enqueue_behind_two({"a", "b", "c"}, {&one, &other, &other});
    EXPECT_THAT(database_.statements(), testing::Contains(ElementsAre("a")));
}

TEST_F(EnqueueGroupTest, OnlyAFewSmallMessagesThatWaitForNobodyShare) {
    const std::vector<NewMessage> few(16, message("t"));
    EXPECT_TRUE(EnqueueGroup::takes(few));
    EXPECT_FALSE(EnqueueGroup::takes(std::vector<NewMessage>(17, message("t"))));
    NewMessage large = message("t");
    large.payload = std::string(64 * 1024 + 1, 'x');
    NewMessage keyed = message("t");
    keyed.idempotency_key = "k";
    NewMessage ordered = message("t");
    ordered.ordering_key = "o";
    NewMessage due = message("t");
    due.due_time = Instant{};
    for (const NewMessage& one : {large, keyed, ordered, due})
        EXPECT_FALSE(EnqueueGroup::takes({&one, 1}));
}

}  // namespace
}  // namespace postroom::sql::enqueue_group_test
