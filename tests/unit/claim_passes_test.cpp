// How a batch is shared: the numbers, and that nobody starves.
#include <gtest/gtest.h>

#include "queue/claim_passes.hpp"

namespace postroom {
namespace {

TEST(ClaimPasses, HalfIsForWhatWaitedAndHalfOfThatForOrderingKeys) {
    EXPECT_EQ(claim_passes(8, 0),
              (ClaimPasses{.urgent = 8, .keyed = 2, .due = 4, .low = 0, .keyed_again = 0}));
    EXPECT_EQ(claim_passes(100, 1),
              (ClaimPasses{.urgent = 100, .keyed = 25, .due = 50, .low = 0, .keyed_again = 100}));
}

TEST(ClaimPasses, EveryFourthClaimGoesByAge) {
    for (std::uint64_t claim = 0; claim < 64; ++claim) {
        const ClaimPasses passes = claim_passes(8, claim);
        EXPECT_EQ(passes.urgent, claim % 4 == 3 ? 0U : 8U) << claim;
        EXPECT_EQ(passes.due, claim % 4 == 3 ? 2U : 4U) << claim;
        EXPECT_EQ(passes.low, claim % 4 == 3 ? 4U : 0U) << claim;
    }
}

TEST(ClaimPasses, HalfIsLeftForFreshMessages) {
    for (std::uint32_t batch = 1; batch < 40; ++batch) {
        for (std::uint64_t claim = 0; claim < 32; ++claim) {
            const ClaimPasses passes = claim_passes(batch, claim);
            EXPECT_LE(passes.keyed, passes.due) << batch << ' ' << claim;
            EXPECT_LE(passes.due, (batch + 1) / 2) << batch << ' ' << claim;
            EXPECT_LE(passes.low, (batch + 1) / 2) << batch << ' ' << claim;
        }
    }
}

// Goal: with a batch of one and urgent messages without end, each other band is served too.
// Method: of the claims by age, see who has the first place.
TEST(ClaimPasses, ABatchOfOneStarvesNobody) {
    int fresh = 0;
    int due = 0;
    int keyed = 0;
    int low = 0;
    for (std::uint64_t claim = 3; claim < 32; claim += 4) {
        const ClaimPasses passes = claim_passes(1, claim);
        if (passes.keyed > 0)
            ++keyed;
        else if (passes.due > 0)
            ++due;
        else if (passes.low > 0)
            ++low;
        else
            ++fresh;
    }
    EXPECT_EQ(fresh, 4);
    EXPECT_EQ(due, 1);
    EXPECT_EQ(keyed, 1);
    EXPECT_EQ(low, 2);
}

TEST(ClaimPasses, RepeatEvery32Claims) {
    for (std::uint64_t claim = 0; claim < 32; ++claim)
        EXPECT_EQ(claim_passes(7, claim), claim_passes(7, claim + 32));
}

}  // namespace
}  // namespace postroom
