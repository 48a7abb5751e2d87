// The leader of a PostgreSQL cluster is killed, or hands over, while messages are written and
// delivered: nobody tells writers and relays, and nothing that was confirmed is lost.
#include <gmock/gmock.h>

#include "chaos/postgres/failover_run.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using testing::Each;
using testing::Le;
using Mode = PatroniCluster::Mode;

// Most of it is the cluster's, which confirms nothing before a standby follows the new leader.
constexpr double delivery_seconds_max = 10;
// Beside other tests.
constexpr double slow_delivery_seconds_max = 60;

// Two kills and one in good order, and again.
void fail_over(FailoverRun& run, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times && !testing::Test::HasFatalFailure(); ++i) {
        if (i % 3 == 1) {
            run.switch_over();
        } else {
            run.kill_leader();
        }
    }
}

TEST(FailoverTest, AKilledLeaderAndASwitchoverLoseNothing) {
    FailoverRun run(Mode::synchronous);
    fail_over(run, 2);
    run.finish();
    EXPECT_THAT(run.delivery_seconds(), Each(Le(slow_delivery_seconds_max)));
}

TEST(FailoverManyTest, SynchronousLosesNothingAndKeepsTheOrder) {
    FailoverRun run(Mode::synchronous);
    fail_over(run, scaled(70, 5));
    run.finish();
    EXPECT_THAT(run.delivery_seconds(), Each(Le(delivery_seconds_max)));
}

TEST(FailoverManyTest, AsynchronousLosesOnlyWhatTheNewLeaderNeverHad) {
    FailoverRun run(Mode::asynchronous);
    fail_over(run, scaled(30, 4));
    run.finish();
    EXPECT_THAT(run.delivery_seconds(), Each(Le(delivery_seconds_max)));
    EXPECT_GT(run.forgotten(), 0U) << "the standbys had everything: the kills were too tame";
    EXPECT_GT(run.numbers_reused(), 0U) << "no number was handed out twice";
}

}  // namespace
}  // namespace postroom::test
