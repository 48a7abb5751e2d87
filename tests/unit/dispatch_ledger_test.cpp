// What the torture makes of the journals of dispatchers.
#include "torture/dispatch_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace postroom::torture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Fate delivered{"plain", 1, State::done, DeadReason::none};
constexpr Fate poison{"poison", 1, State::dead, DeadReason::crash_limit};

class DispatchLedgerTest : public testing::Test {
protected:
    DispatchLedgerTest() {
        message.id = WorkItemId(7, 1);
        message.message_id = MessageId("plain-0");
    }

    void ends(State state, DeadReason reason, std::uint32_t lost_count) {
        message.state = state;
        message.dead_reason = reason;
        message.lost_count = lost_count;
    }
    // As a journal has it, without the line end.
    void journal(std::string line) {
        line.pop_back();
        ledger.read(line);
    }
    void loses(std::int64_t lease) {
        journal(DispatchLedger::lost_line({.id = message.id, .lease_id = LeaseId(lease)}));
    }

    Message message;
    DispatchLedger ledger;
};

TEST_F(DispatchLedgerTest, WhatWasHandledIsDone) {
    ends(State::done, DeadReason::none, 0);
    EXPECT_THAT(ledger.judge(delivered, message),
                ElementsAre("plain-0: done, though nobody handled it"));
    journal(DispatchLedger::handled_line(message.message_id));
    EXPECT_THAT(ledger.judge(delivered, message), IsEmpty());
}

TEST_F(DispatchLedgerTest, PoisonIsDeadForItsCrashes) {
    ends(State::dead, DeadReason::crash_limit, 4);
    EXPECT_THAT(ledger.judge(poison, message), IsEmpty());
    EXPECT_THAT(ledger.judge(delivered, message), ElementsAre("plain-0: Failed crash_limit"));
}

TEST_F(DispatchLedgerTest, ADeathThatStallsOfLivingDispatchersExplainIsNotABrokenPromise) {
    ends(State::dead, DeadReason::crash_limit, 4);
    loses(1);
    EXPECT_THAT(ledger.judge(delivered, message), IsEmpty());
    EXPECT_EQ(ledger.losses(), 1U);
}

TEST_F(DispatchLedgerTest, ALossThatWasToldTwiceExplainsOneOnly) {
    ends(State::dead, DeadReason::crash_limit, 5);
    loses(1);
    loses(1);
    EXPECT_THAT(ledger.judge(delivered, message), testing::SizeIs(1));
    loses(2);
    EXPECT_THAT(ledger.judge(delivered, message), IsEmpty());
}

TEST_F(DispatchLedgerTest, StallsExplainNoOtherDeath) {
    ends(State::dead, DeadReason::max_attempts, 1);
    loses(1);
    EXPECT_THAT(ledger.judge(delivered, message), testing::SizeIs(1));
}

}  // namespace
}  // namespace postroom::torture
