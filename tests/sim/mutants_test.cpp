// The checker is trusted because it finds bugs that were put there: one test for each.
#include <string>

#include <gtest/gtest.h>

#include "sim/world.hpp"

namespace postroom::sim {
namespace {

constexpr std::uint64_t seeds_at_most = 3'000;

struct Planted {
    Mutant mutant{};
    const char* name = "";
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

class SimulatorMutants : public testing::TestWithParam<Planted> {};

TEST_P(SimulatorMutants, IsCaught) {
    for (std::uint64_t seed = 1; seed <= seeds_at_most; ++seed) {
        Profile profile = draw_profile(seed);
        profile.mutant = GetParam().mutant;
        const RunResult result = simulate(profile);
        if (result.violation.empty()) continue;
        RecordProperty("seed", std::to_string(seed));
        std::cout << "seed " << seed << ": " << result.violation << "\n";
        return;
    }
    ADD_FAILURE() << "not caught by " << seeds_at_most << " seeds";
}

INSTANTIATE_TEST_SUITE_P(
    Planted, SimulatorMutants,
    testing::Values(Planted{Mutant::settle_ignores_lease, "settle_ignores_lease"},
                    Planted{Mutant::settle_by_owner_only, "settle_by_owner_only"},
                    Planted{Mutant::settle_forgets_release, "settle_forgets_release"},
                    Planted{Mutant::settle_fails_for_good, "settle_fails_for_good"},
                    Planted{Mutant::settle_twice_as_many_attempts, "settle_twice_as_many_attempts"},
                    Planted{Mutant::release_costs_attempt, "release_costs_attempt"},
                    Planted{Mutant::retry_at_once, "retry_at_once"},
                    Planted{Mutant::retry_never_due, "retry_never_due"},
                    Planted{Mutant::extend_always_stands, "extend_always_stands"},
                    Planted{Mutant::extend_does_nothing, "extend_does_nothing"},
                    Planted{Mutant::claim_returns_leased, "claim_returns_leased"},
                    Planted{Mutant::claim_counts_no_loss, "claim_counts_no_loss"},
                    Planted{Mutant::claim_acknowledges, "claim_acknowledges"},
                    Planted{Mutant::claim_before_due, "claim_before_due"},
                    Planted{Mutant::reap_drops_message, "reap_drops_message"},
                    Planted{Mutant::reap_takes_live_leases, "reap_takes_live_leases"},
                    Planted{Mutant::born_lease_never_ends, "born_lease_never_ends"},
                    Planted{Mutant::ordering_ignored, "ordering_ignored"},
                    Planted{Mutant::key_remembers_nothing, "key_remembers_nothing"},
                    Planted{Mutant::commit_loses_message, "commit_loses_message"},
                    Planted{Mutant::hand_over_before_commit, "hand_over_before_commit"},
                    Planted{Mutant::hand_over_after_rollback, "hand_over_after_rollback"},
                    Planted{Mutant::hand_over_when_unknown, "hand_over_when_unknown"},
                    Planted{Mutant::hand_over_again_later, "hand_over_again_later"},
                    Planted{Mutant::outage_costs_attempt, "outage_costs_attempt"},
                    Planted{Mutant::failure_acknowledged, "failure_acknowledged"},
                    Planted{Mutant::started_past_deadline, "started_past_deadline"},
                    Planted{Mutant::ack_before_handler, "ack_before_handler"},
                    Planted{Mutant::outage_taken_for_success, "outage_taken_for_success"},
                    Planted{Mutant::leases_not_renewed, "leases_not_renewed"},
                    Planted{Mutant::wake_ups_lost, "wake_ups_lost"},
                    Planted{Mutant::losses_overlooked, "losses_overlooked"},
                    Planted{Mutant::close_without_release, "close_without_release"}),
    [](const testing::TestParamInfo<Planted>& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace postroom::sim
