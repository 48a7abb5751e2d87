// Processes that enqueue, claim and settle are killed at any moment; what was promised holds.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "chaos/kill_run.hpp"
#include "support/scale.hpp"

namespace postroom::test {
namespace {

using testing::IsEmpty;

TEST_P(KillTest, KilledWorkersLoseNothingAndRollBackWhatTheyDidNotCommit) {
    database().sql("CREATE TABLE business_order (id varchar(64) PRIMARY KEY)");
    KillRun run(database(), folder().path(), seed());
    const std::uint64_t kills = scaled(GetParam().kills, 30);
    for (std::uint64_t i = 0; i < kills; ++i) run.children().kill_one();
    const History history = run.finish();

    expect_promises_kept(fmt::format("{} kills, seed {}", run.children().kills(), seed()), history,
                         database(), true);
    EXPECT_THAT(history.errors(), IsEmpty());
    // Enough happened for the kills to have met something.
    EXPECT_GT(history.confirmed(), kills);
    EXPECT_GT(history.rolled_back(), 0U);
    EXPECT_GT(redelivered(history.holds()), 0U);
}

}  // namespace
}  // namespace postroom::test
