// 32 workers on one queue: none is given what another holds, and none is left out.
#include <gmock/gmock.h>

#include <chrono>

#include "chaos/chaos_test.hpp"
#include "chaos/claim_race.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

TEST_P(ClaimRaceTest, WorkersNeverShareAMessageAndMissNone) {
    const std::uint64_t count = scaled(200'000, 2000);
    fill_race(Outbox(*open()), count);
    Sightings sightings;
    const auto took = race({database().url()}, count, sightings, {}, seed());
    judge_race("long leases", count, took, sightings, seed());
    EXPECT_EQ(torture::redelivered(sightings.holds), 0U);
    EXPECT_THAT(broken_links(database(), "outbox"), IsEmpty());
}

TEST_P(ClaimRaceTest, AbandonedAndExpiredMessagesGoToOneAtATime) {
    constexpr std::uint64_t races_max = 10;
    const std::uint64_t count = scaled(100'000, 2000);
    const RaceHabits habits{.lease = 250ms, .abandon_percent = 20, .late_percent = 8};
    std::uint64_t lost = 0;
    for (std::uint64_t i = 0; lost == 0 && i < races_max; ++i) {
        fill_race(Outbox(*open()), count);
        Sightings sightings;
        const auto took = race({database().url()}, count, sightings, habits, seed() + i);
        judge_race("abandons and late settlements", count, took, sightings, seed() + i);
        lost += sightings.lost;
    }
    EXPECT_GT(lost, 0U) << "no lease was lost: the races were too tame";
    EXPECT_THAT(broken_links(database(), "outbox"), IsEmpty());
}

}  // namespace
}  // namespace postroom::test
