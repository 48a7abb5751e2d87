// Room in the hot queue, and the leases that messages are born with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/random.hpp"
#include "dispatch/dispatch_core.hpp"
#include "postroom/testing.hpp"
#include "queue/hot_path.hpp"

namespace postroom::hot_lease_test {
namespace {

using namespace std::chrono_literals;

class HotLeaseTest : public testing::Test {
protected:
    HotLeaseTest() {
        core->routes().on("t", [](const Message&) {});
        core->connect({.keeper = [this] { ++keeper_calls; }});
    }
    ~HotLeaseTest() override { core->disconnect(); }

    std::optional<BornLease> reserve(std::size_t count = 1) {
        return core->reserve(
            std::vector<NewMessage>(count, NewMessage{.topic = "t", .payload = ""}));
    }
    void hand_over(const BornLease& born, std::uint64_t seq) {
        Message message;
        message.id = WorkItemId(seq, 1);
        message.topic = "t";
        message.lease = Lease{.id = message.id, .lease_id = born.lease_id, .owner = born.owner};
        core->hand_over(born, {message}, true);
    }

    ManualClock clock;
    MemoryStore store{clock};
    base::SystemRandom random;
    int keeper_calls = 0;
    std::shared_ptr<DispatchCore> core = std::make_shared<DispatchCore>(
        store, DispatcherOptions{.lease = 30s, .hot_capacity = 4}, clock, random);
};

TEST_F(HotLeaseTest, SingleMessagesShareALeaseForAWhile) {
    const LeaseId first = reserve()->lease_id;
    clock.advance(999ms);
    EXPECT_EQ(reserve()->lease_id, first);
    clock.advance(1ms);
    EXPECT_NE(reserve()->lease_id, first);
}

TEST_F(HotLeaseTest, SeveralMessagesHaveALeaseOfTheirOwn) {
    const LeaseId single = reserve()->lease_id;
    const LeaseId several = reserve(2)->lease_id;
    EXPECT_NE(several, single);
    EXPECT_EQ(reserve()->lease_id, single);
}

TEST_F(HotLeaseTest, RoomIsGivenBackBySharersOneByOne) {
    const std::array born{*reserve(), *reserve(), *reserve(), *reserve()};
    EXPECT_EQ(reserve(), std::nullopt);
    core->give_back(born[0]);
    EXPECT_EQ(reserve(2), std::nullopt);
    hand_over(born[1], 1);
    EXPECT_EQ(core->status().hot_depth, 1U);
    core->give_back(born[2]);
    core->give_back(born[3]);
    EXPECT_EQ(reserve(4), std::nullopt);
    EXPECT_NE(reserve(3), std::nullopt);
}

TEST_F(HotLeaseTest, AHandOverWithoutAReservationIsIgnored) {
    const BornLease born = *reserve();
    core->give_back(born);
    hand_over(born, 1);
    EXPECT_EQ(core->status().hot_depth, 0U);
    EXPECT_NE(reserve(4), std::nullopt);
}

TEST_F(HotLeaseTest, TheKeeperIsCalledOnlyWhenItWouldComeTooLate) {
    hand_over(*reserve(), 1);
    EXPECT_EQ(keeper_calls, 1);
    const Instant comes = core->keep_step(clock.now());
    EXPECT_EQ(comes, clock.now() + 10s);
    clock.advance(500ms);
    hand_over(*reserve(), 2);
    EXPECT_EQ(keeper_calls, 1);
}

}  // namespace
}  // namespace postroom::hot_lease_test
