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
    kill_until_something_was_met(run.children(), folder().path(), kills, {}, GetParam().patience);
    const History history = run.finish();

    expect_promises_kept(fmt::format("{} kills, seed {}", run.children().kills(), seed()), history,
                         database(), true);
    EXPECT_THAT(history.errors(), IsEmpty());
    EXPECT_TRUE(met_something(history, kills));
}

}  // namespace
}  // namespace postroom::test
