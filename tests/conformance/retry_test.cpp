// Retries: the back-off, and the attempt after which a message is dead.
#include "conformance/law.hpp"

namespace postroom::test {

using namespace std::chrono_literals;

// Method: for each number of failures a message of its own that has failed so often at short
// notice; the one that waits longest first. Those that are due again before the others are through
// are leased and left alone.
void RetryLaw::expect_back_off(const WorkQueue& by, const std::vector<Duration>& expected) {
    const auto claim_this = [&](const WorkItemId& id) {
        for (Message& message : claim())
            if (message.id == id) return std::move(message);
        throw std::runtime_error("the message was not claimed");
    };
    for (std::size_t failures = expected.size(); failures-- > 0;) {
        const WorkItemId id = put();
        for (std::size_t i = 0; i < failures; ++i) {
            work().abandon(leases_of(claim_this(id)), "at once", 1ms);
            pass(5ms);
        }
        const Message message = claim_this(id);
        const Instant before = now();
        by.abandon(leases_of(message), "x");
        const Instant after = now();
        EXPECT_GE(get(id).available_at, before + expected[failures]) << failures;
        EXPECT_LE(get(id).available_at, after + expected[failures]) << failures;
    }
}

namespace {

TEST_P(RetryLaw, OBX_039_IBX_052_TheBackOffGrowsWithEveryFailure) {
    const auto queue_face = face({.retry = {.base = 1min, .factor = 2.0, .cap = 5min}});
    expect_back_off(*queue_face, {1min, 2min, 4min, 5min, 5min});
}

TEST_P(RetryLaw, OBX_039_IBX_052_TheDefaultBackOffIsTwoToTheNumberOfFailuresInSeconds) {
    expect_back_off(work(), {2s, 4s, 8s, 16s, 32s, 60s, 60s});
}

TEST_P(RetryLaw, IBX_053_AGivenDelayWinsOverTheBackOff) {
    const auto queue_face = face({.retry = {.base = 1min}});
    const WorkItemId id = put();
    const Instant before = now();
    queue_face->abandon(leases_of(claim_one()), "x", 17s);
    EXPECT_GE(get(id).available_at, before + 17s);
    EXPECT_LE(get(id).available_at, now() + 17s);
}

TEST_P(RetryLaw, AMessageIsDeadExactlyWhenItsAttemptsAreUsedUp) {
    const auto queue_face = face({.retry = {.base = 1ms, .factor = 1.0, .max_attempts = 3}});
    const WorkItemId id = put();
    for (int attempt = 1; attempt <= 2; ++attempt) {
        EXPECT_THAT(queue_face->abandon(leases_of(claim_one()), "again"),
                    ElementsAre(Settled::ready));
        pass(5ms);
    }
    EXPECT_THAT(queue_face->abandon(leases_of(claim_one()), "last"), ElementsAre(Settled::dead));
    const Message message = get(id);
    EXPECT_EQ(message.state, State::dead);
    EXPECT_EQ(message.dead_reason, DeadReason::max_attempts);
    EXPECT_EQ(message.retry_count, 3U);
    EXPECT_EQ(message.last_error, "last");
    pass(5ms);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(RetryLaw, TheMessagesOwnLimitWinsOverThePolicy) {
    const auto queue_face = face({.retry = {.base = 1ms, .factor = 1.0, .max_attempts = 2}});
    const WorkItemId once = put({.max_attempts = 1});
    EXPECT_THAT(queue_face->abandon(leases_of(claim_one()), "x"), ElementsAre(Settled::dead));
    EXPECT_EQ(get(once).dead_reason, DeadReason::max_attempts);

    const WorkItemId thrice = put({.max_attempts = 3});
    for (int attempt = 1; attempt <= 2; ++attempt) {
        EXPECT_THAT(queue_face->abandon(leases_of(claim_one()), "x"), ElementsAre(Settled::ready));
        pass(5ms);
    }
    EXPECT_THAT(queue_face->abandon(leases_of(claim_one()), "x"), ElementsAre(Settled::dead));
    EXPECT_EQ(get(thrice).retry_count, 3U);
    EXPECT_EQ(get(thrice).max_attempts, 3U);
}

TEST_P(RetryLaw, ReleasesAndLossesUseUpNoAttempt) {
    const auto queue_face = face({.retry = {.base = 1ms, .max_attempts = 1}});
    const WorkItemId id = put();
    work().release(leases_of(claim_one()));
    claim_one(short_lease);
    pass(after_short_lease);
    work().reap_expired();
    EXPECT_EQ(get(id).state, State::ready);
    EXPECT_THAT(queue_face->abandon(leases_of(claim_one()), "x"), ElementsAre(Settled::dead));
}

TEST_P(RetryLaw, RedriveMakesADeadMessageAsGoodAsNew) {
    const auto queue_face = face({.retry = {.base = 1ms, .max_attempts = 1}});
    const WorkItemId id = put();
    claim_one(short_lease);
    pass(after_short_lease);
    queue_face->abandon(leases_of(claim_one()), "x");
    ASSERT_EQ(get(id).state, State::dead);
    const std::vector<WorkItemId> ids{id};
    EXPECT_EQ(work().redrive(ids), 1U);
    const Message message = claim_one();
    EXPECT_EQ(message.id, id);
    EXPECT_EQ(message.retry_count, 0U);
    EXPECT_EQ(message.lost_count, 0U);
    EXPECT_EQ(message.last_error, "");
    EXPECT_EQ(message.dead_reason, DeadReason::none);
    EXPECT_EQ(message.payload, "{}");
}

TEST_P(RetryLaw, RedriveTouchesNothingButDeadMessages) {
    const WorkItemId ready = put();
    EXPECT_EQ(work().redrive(std::vector<WorkItemId>{ready}), 0U);
    const Message message = claim_one();
    EXPECT_EQ(work().redrive(std::vector<WorkItemId>{message.id}), 0U);
    EXPECT_EQ(get(message.id).state, State::in_progress);
    work().ack(leases_of(message));
    EXPECT_EQ(work().redrive(std::vector<WorkItemId>{message.id}), 0U);
    EXPECT_EQ(work().redrive(std::vector<WorkItemId>{WorkItemId(987654, 3)}), 0U);
    EXPECT_EQ(work().redrive({}), 0U);
    EXPECT_THAT(claim(), IsEmpty());
}

TEST_P(RetryLaw, DeadMessagesOutliveEveryPurge) {
    const WorkItemId id = put();
    work().fail(leases_of(claim_one()), "x");
    pass(5ms);
    EXPECT_EQ(work().purge(1ms), 0U);
    EXPECT_EQ(get(id).state, State::dead);
}

}  // namespace
}  // namespace postroom::test
