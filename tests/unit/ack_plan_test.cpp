// Which of a backend's ways to ack takes which leases.
#include "sql/ack_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace postroom::sql::ack_plan_test {
namespace {

using testing::ElementsAre;

Unit unit(const std::string& text) {
    return {.statements = {Statement::compile(text, Placeholder::plain)}};
}

const AckUnits::Way one{.plain = unit("one"), .kept = unit("one, kept")};
const AckUnits::Way run{.plain = unit("run"), .kept = unit("run, kept")};

Lease lease(std::uint64_t seq, std::int64_t lease_id, std::uint8_t owner = 1) {
    return {.id = WorkItemId(seq, 7),
            .lease_id = LeaseId(lease_id),
            .owner = OwnerToken(Uuid{{owner}})};
}

std::vector<std::string> ways_for(const AckUnits& units, const std::vector<Lease>& leases,
                                  bool keep_history = false) {
    AckPlan plan(units, keep_history);
    for (std::size_t i = 0; i < leases.size(); ++i) plan.add(i, leases[i]);
    Batch batch;
    plan.add_to(batch, 0, false);
    std::vector<std::string> texts;
    for (const Call& call : batch.calls()) texts.push_back(call.statement->sql);
    return texts;
}

TEST(AckPlan, TakesAGroupForEachLease) {
    const AckUnits units{.group = unit("group")};
    EXPECT_THAT(ways_for(units, {lease(1, 1), lease(9, 1), lease(3, 2)}),
                ElementsAre("group", "group"));
    EXPECT_THAT(ways_for(units, {lease(1, 1)}), ElementsAre("group"));
}

TEST(AckPlan, TakesTheTextForOneWhereAMessageComesAlone) {
    const AckUnits units{.group = unit("group"), .one = one};
    EXPECT_THAT(ways_for(units, {lease(1, 1), lease(2, 1), lease(3, 2)}),
                ElementsAre("group", "one"));
    EXPECT_THAT(ways_for(units, {lease(3, 2)}, true), ElementsAre("one, kept"));
}

TEST(AckPlan, TakesLeasesOfOneOwnerTogether) {
    const AckUnits units{.group = unit("group"), .rows = unit("rows")};
    EXPECT_THAT(ways_for(units, {lease(1, 1), lease(2, 2)}), ElementsAre("rows"));
    EXPECT_THAT(ways_for(units, {lease(1, 1), lease(2, 1)}), ElementsAre("group"));
    EXPECT_THAT(ways_for(units, {lease(1, 1), lease(2, 2, 9)}), ElementsAre("group", "group"));
    // One message under two leases: which of them stands, each has to find out by itself.
    EXPECT_THAT(ways_for(units, {lease(1, 1), lease(1, 2)}), ElementsAre("group", "group"));
}

TEST(AckPlan, TakesRunsOfNumbersWhereThereIsNoGroup) {
    const AckUnits units{.run = run, .one = one};
    EXPECT_THAT(ways_for(units, {lease(4, 1), lease(2, 1), lease(3, 1), lease(8, 1), lease(9, 1)}),
                ElementsAre("run", "one", "one"));
    EXPECT_THAT(ways_for(units, {lease(2, 1), lease(3, 1), lease(4, 1)}, true),
                ElementsAre("run, kept"));
}

}  // namespace
}  // namespace postroom::sql::ack_plan_test
