#include "dispatch/circuit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace postroom::circuit_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant start{1h};

struct CircuitTest : testing::Test {
    Circuits circuits{{.open_for = 1s, .open_for_max = 4s}, 4};
};

TEST_F(CircuitTest, AHealthyDestinationTakesEverything) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(circuits.start("crm", start));
    EXPECT_FALSE(circuits.succeeded("crm"));
    EXPECT_THAT(circuits.open(), IsEmpty());
}

TEST_F(CircuitTest, OneFailureOpensItForThatDestinationOnly) {
    EXPECT_TRUE(circuits.start("crm", start));
    EXPECT_TRUE(circuits.failed("crm", start));
    EXPECT_FALSE(circuits.start("crm", start + 999ms));
    EXPECT_TRUE(circuits.start("mail", start));
    EXPECT_EQ(circuits.rest("crm", start), Duration(1s));
    EXPECT_THAT(circuits.open(), ElementsAre("crm"));
}

TEST_F(CircuitTest, FailuresOfThoseUnderWayAreNoNews) {
    EXPECT_TRUE(circuits.failed("crm", start));
    EXPECT_FALSE(circuits.failed("crm", start + 10ms));
    EXPECT_EQ(circuits.rest("crm", start + 10ms), Duration(990ms));
}

TEST_F(CircuitTest, ASingleMessageProbesAndEachFailedProbeDoublesTheRest) {
    Instant now = start;
    circuits.failed("crm", now);
    for (const Duration open_for : {1s, 2s, 4s, 4s}) {
        now += open_for;
        EXPECT_FALSE(circuits.start("crm", now - 1us));
        EXPECT_TRUE(circuits.start("crm", now));
        EXPECT_FALSE(circuits.start("crm", now));
        EXPECT_TRUE(circuits.failed("crm", now));
    }
}

TEST_F(CircuitTest, ASuccessfulProbeRampsUpSlowlyAndThenCloses) {
    circuits.failed("crm", start);
    const Instant now = start + 1s;
    EXPECT_TRUE(circuits.start("crm", now));
    EXPECT_FALSE(circuits.succeeded("crm"));
    EXPECT_TRUE(circuits.start("crm", now));
    EXPECT_TRUE(circuits.start("crm", now));
    EXPECT_FALSE(circuits.start("crm", now));
    EXPECT_FALSE(circuits.succeeded("crm"));
    EXPECT_TRUE(circuits.succeeded("crm"));
    EXPECT_THAT(circuits.open(), IsEmpty());
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(circuits.start("crm", now));
}

TEST_F(CircuitTest, AProbeThatIsAskedForNeedNotWait) {
    EXPECT_FALSE(circuits.probe_now("crm", start)) << "it was never down";
    circuits.failed("crm", start);
    EXPECT_FALSE(circuits.start("crm", start));
    EXPECT_TRUE(circuits.probe_now("crm", start));
    EXPECT_FALSE(circuits.probe_now("crm", start)) << "one may start already";
    EXPECT_TRUE(circuits.start("crm", start));
    EXPECT_FALSE(circuits.start("crm", start)) << "one is enough to find out";
}

TEST_F(CircuitTest, OfVeryManyTheOneThatWaitedLongestForItsProbeIsForgotten) {
    for (std::size_t i = 0; i <= Circuits::circuits_max; ++i)
        circuits.failed("to " + std::to_string(i), start + i * 1us);
    EXPECT_THAT(circuits.open(), testing::SizeIs(Circuits::circuits_max));
    EXPECT_TRUE(circuits.may_start("to 0", start));
    EXPECT_FALSE(circuits.may_start("to 1", start));
    circuits.failed("to 1", start);
    EXPECT_THAT(circuits.open(), testing::Contains("to 2"));
}

TEST_F(CircuitTest, AMessageThatFailsByItsOwnFaultLeavesTheProbeToTheNext) {
    circuits.failed("crm", start);
    const Instant now = start + 1s;
    EXPECT_TRUE(circuits.start("crm", now));
    circuits.neither("crm");
    EXPECT_TRUE(circuits.start("crm", now));
}

}  // namespace
}  // namespace postroom::circuit_test
