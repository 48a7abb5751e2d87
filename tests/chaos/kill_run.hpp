// KillRun: queue children at work on one database, and what is left of it in the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "chaos/chaos_test.hpp"
#include "chaos/history.hpp"
#include "chaos/pack.hpp"

namespace postroom::test {

class KillRun {
public:
    // Starts the children; `journals` is an empty folder.
    KillRun(ChaosDatabase& database, std::filesystem::path journals, std::uint64_t seed);

    Pack& children() { return children_; }

    // Ends the children, lets one that nobody kills deliver what is left, and reads the journals.
    History finish();

private:
    std::vector<std::string> arguments(const std::string& mode, std::uint64_t number,
                                       std::chrono::milliseconds lease) const;

    ChaosDatabase& database_;
    const std::filesystem::path journals_;
    const std::uint64_t seed_;
    Pack children_;
};

// Enough happened for `kills` kills to have met something: a message that was held, one that was
// not committed.
bool met_something(const History& history, std::uint64_t kills);

// Kills that often, and on a machine too busy for its children further until something was met.
// Before each kill it rests for `pause`, and up to `patience` until another message is confirmed.
void kill_until_something_was_met(Pack& children, const std::filesystem::path& journals,
                                  std::uint64_t kills, Duration pause = {},
                                  std::chrono::milliseconds patience = {});

// Fails the test for each promise that was broken, and prints the figures. Without `leases_survive`
// the database lost its leases in between, and two may have held a message.
void expect_promises_kept(const std::string& title, const History& history, ChaosDatabase& database,
                          bool leases_survive);

}  // namespace postroom::test
