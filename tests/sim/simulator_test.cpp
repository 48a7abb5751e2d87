// The simulator: dispatchers, writers and a database in one thread, on virtual time, in bad
// weather. See docs/internals/simulator.md.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "support/scale.hpp"

namespace postroom::sim {
namespace {

std::optional<std::uint64_t> number_from(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text == '\0') return std::nullopt;
    return std::stoull(text);
}

std::string replay_command(const std::string& test, std::uint64_t seed) {
    return "POSTROOM_SIM_SEED=" + std::to_string(seed) + " bin/sim_tests --gtest_filter=" + test;
}

// Runs `count` seeds from 1 on; with POSTROOM_SIM_SEED only that one, and with a trace.
void run_seeds(const std::string& test, std::uint64_t count, bool calm) {
    if (const auto seed = number_from("POSTROOM_SIM_SEED")) {
        EXPECT_EQ(simulate(draw_profile(*seed, calm), true).violation, "");
        return;
    }
    const std::uint64_t first = number_from("POSTROOM_SIM_FIRST").value_or(1);
    std::uint64_t steps = 0;
    std::uint64_t starts = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const RunResult result = simulate(draw_profile(seed, calm));
        steps += result.steps;
        starts += result.starts;
        ASSERT_EQ(result.violation, "")
            << "seed " << seed << "; replay it by\n    " << replay_command(test, seed);
    }
    std::cout << count << " seeds, " << steps << " steps, " << starts << " deliveries\n";
    EXPECT_GT(starts, count) << "the simulated processes hardly delivered anything";
}

std::uint64_t seed_count() {
    return number_from("POSTROOM_SIM_SEEDS").value_or(test::scaled(10'000, 2'000));
}

TEST(Simulator, SeedsKeepEveryInvariant) {
    run_seeds("Simulator.SeedsKeepEveryInvariant", seed_count(), false);
}

TEST(Simulator, ZeroFaultsMeansZeroDuplicates) {
    run_seeds("Simulator.ZeroFaultsMeansZeroDuplicates", seed_count() / 4, true);
}

TEST(Simulator, TheSameSeedIsTheSameRun) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const RunResult once = simulate(draw_profile(seed));
        const RunResult again = simulate(draw_profile(seed));
        EXPECT_EQ(once.digest, again.digest) << "seed " << seed;
        EXPECT_EQ(once.steps, again.steps) << "seed " << seed;
    }
}

}  // namespace
}  // namespace postroom::sim
