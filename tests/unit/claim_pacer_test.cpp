#include "dispatch/claim_pacer.hpp"

#include <gtest/gtest.h>

namespace postroom::claim_pacer_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1h};

ClaimPacer pacer() { return ClaimPacer({.batch = 50, .recheck = 20ms, .poll_interval_max = 5s}); }

TEST(ClaimPacer, TheFirstClaimIsMadeAtOnce) {
    EXPECT_EQ(pacer().next(start, 100).claim_count, 50U);
}

TEST(ClaimPacer, AClaimAsksForNoMoreThanThereIsRoomFor) {
    EXPECT_EQ(pacer().next(start, 7).claim_count, 7U);
    EXPECT_EQ(pacer().next(start, 0).claim_count, 0U);
    EXPECT_EQ(pacer().next(start, 0).wait_until, Instant::max());
}

TEST(ClaimPacer, AFullBatchClaimsAgainAtOnce) {
    ClaimPacer p = pacer();
    p.claimed(start, 50, 50, 50);
    EXPECT_EQ(p.next(start, 100).claim_count, 50U);
}

TEST(ClaimPacer, OBX_103_IBX_124_EmptyClaimsBackOffUpToTheLongestInterval) {
    ClaimPacer p = pacer();
    Instant now = start;
    Duration before{};
    for (const Duration expected :
         {20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1280ms, 2560ms, 5000ms, 5000ms}) {
        p.claimed(now, 50, 0, 0);
        const ClaimPacer::Step step = p.next(now, 100);
        EXPECT_EQ(step.claim_count, 0U);
        EXPECT_EQ(step.wait_until - now, expected);
        EXPECT_GE(step.wait_until - now, before);
        before = step.wait_until - now;
        now = step.wait_until;
        EXPECT_EQ(p.next(now, 100).claim_count, 50U);
    }
}

TEST(ClaimPacer, AnythingFoundMakesItQuickAgain) {
    ClaimPacer p = pacer();
    for (int i = 0; i < 8; ++i) p.claimed(start, 50, 0, 0);
    p.claimed(start, 50, 1, 1);
    EXPECT_EQ(p.next(start, 100).wait_until, start + 20ms);
}

TEST(ClaimPacer, AFullBatchThatIsHeldBackNeitherHurriesNorSlowsDown) {
    ClaimPacer p = pacer();
    for (int i = 0; i < 8; ++i) {
        p.claimed(start, 50, 50, 0);
        EXPECT_EQ(p.next(start, 100).wait_until, start + 20ms);
    }
}

TEST(ClaimPacer, WhatIsExpectedMuchLaterIsThereWhenItsTimeComesAndSeldomAskedForBefore) {
    ClaimPacer p = pacer();
    const Instant turn = start + 10s;
    Instant now = start;
    int claims = 0;
    for (; now < turn; ++claims) {
        p.claimed(now, 50, 1, 0);
        p.expected(now, turn);
        now = p.next(now, 100).wait_until;
    }
    EXPECT_EQ(now, turn);
    EXPECT_LE(claims, 10);
}

TEST(ClaimPacer, ANudgeClaimsAtOnceAndLooksAgainSoon) {
    ClaimPacer p = pacer();
    for (int i = 0; i < 8; ++i) p.claimed(start, 50, 0, 0);
    p.nudged();
    EXPECT_EQ(p.next(start, 100).claim_count, 50U);
    p.claimed(start, 50, 0, 0);
    EXPECT_EQ(p.next(start, 100).wait_until, start + 20ms);
}

// Whether a claim follows a ring at once depends on what the claim before it found, and when.
TEST(ClaimPacer, ARingSoonAfterAClaimThatFoundLittleWaitsUntilItHasRested) {
    struct Case {
        std::size_t got;     // of 50
        std::size_t useful;  // of those
        Duration rung_after;
        Duration claims_after;  // since the claim before
    };
    for (const Case& c : {Case{0, 0, 0ms, 2ms}, Case{0, 0, 1ms, 2ms}, Case{1, 1, 1ms, 2ms},
                          Case{49, 49, 1ms, 2ms}, Case{50, 0, 1ms, 2ms}, Case{0, 0, 2ms, 2ms},
                          Case{1, 1, 10ms, 10ms}, Case{50, 50, 0ms, 0ms}}) {
        ClaimPacer p = pacer();
        p.claimed(start, 50, c.got, c.useful);
        p.rung();
        p.rung();
        const Instant rung_at = start + c.rung_after;
        const ClaimPacer::Step step = p.next(rung_at, 100);
        EXPECT_EQ(step.wait_until - start, c.claims_after) << c.got << ", " << c.useful;
        EXPECT_EQ(step.claim_count, rung_at < start + c.claims_after ? 0U : 50U);
        EXPECT_EQ(p.next(start + c.claims_after, 100).claim_count, 50U);
    }
}

TEST(ClaimPacer, ARingAfterALongSilenceClaimsAtOnceAndLooksAgainSoon) {
    ClaimPacer p = pacer();
    p.rung();
    EXPECT_EQ(p.next(start, 100).claim_count, 50U);
    for (int i = 0; i < 8; ++i) p.claimed(start, 50, 0, 0);
    p.rung();
    EXPECT_EQ(p.next(start + 1s, 100).claim_count, 50U);
    p.claimed(start + 1s, 50, 0, 0);
    EXPECT_EQ(p.next(start + 1s, 100).wait_until, start + 1s + 20ms);
}

TEST(ClaimPacer, FailuresBackOffAndAreNotHurriedByNudges) {
    ClaimPacer p = pacer();
    p.failed(start);
    EXPECT_EQ(p.next(start, 100).wait_until, start + 100ms);
    p.nudged();
    p.rung();
    EXPECT_EQ(p.next(start, 100).claim_count, 0U);
    p.failed(start);
    EXPECT_EQ(p.next(start, 100).wait_until, start + 200ms);
    for (int i = 0; i < 20; ++i) p.failed(start);
    EXPECT_EQ(p.next(start, 100).wait_until, start + 5s);
    p.claimed(start, 50, 50, 50);
    EXPECT_EQ(p.next(start, 100).claim_count, 50U);
}

}  // namespace
}  // namespace postroom::claim_pacer_test
