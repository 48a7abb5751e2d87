// World: one database, some processes, time, and bad weather, all in one thread and all from one
// seed. First everything goes on under faults; then the weather clears, and within bounded time
// everything must be finished.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "postroom/testing.hpp"
#include "sim/dice.hpp"
#include "sim/ledger.hpp"
#include "sim/mutant_store.hpp"
#include "sim/profile.hpp"
#include "sim/report.hpp"
#include "sim/sim_process.hpp"
#include "sim/witness.hpp"

namespace postroom::sim {

struct RunResult {
    std::string violation{};  // empty: none
    std::uint64_t digest = 0;
    std::uint64_t steps = 0;
    std::uint64_t starts = 0;
};

class World {
public:
    World(const Profile& profile, bool trace);
    ~World();

    RunResult run();

    // For the processes.
    const Profile& profile() const { return profile_; }
    ManualClock& time() { return time_; }
    Dice& dice() { return dice_; }
    Ledger& ledger() { return ledger_; }
    Report& report() { return report_; }
    Witness& witness() { return witness_; }
    bool faults() const { return faults_; }
    // All must end in bounded time from now on.
    bool storm_over() const { return storm_over_; }
    bool destination_down() const { return destination_down_; }
    // Other threads and processes go on while a call is under way.
    void interleave();
    void count_start() { ++starts_; }

private:
    enum class Deed : std::uint8_t { loop, work, finish, write, end_transaction };
    struct Action {
        Deed deed{};
        std::size_t process = 0;
        std::size_t which = 0;
    };

    void spawn(std::size_t place, bool dispatches);
    std::vector<Action> possible();
    void act(bool nested);
    void perform(const Action& action);
    void do_harm();
    void do_without_harm();
    void pass_time();
    void bury();
    void write(SimProcess& process);
    NewMessage new_message(bool with_id_key);
    void write_alone(SimProcess& process);
    void write_in_transaction(SimProcess& process);
    void end_transaction(SimProcess& process, std::size_t which);
    void clear_weather();
    void finish_all();

    const Profile profile_;
    Dice dice_;
    ManualClock time_;
    MemoryStore database_;
    Report report_;
    Ledger ledger_;
    MutantStore mutant_store_;
    Witness witness_;
    std::vector<std::unique_ptr<SimProcess>> processes_;
    int lives_ = 0;
    int nested_ = 0;
    bool faults_ = false;
    bool storm_over_ = false;
    bool destination_down_ = false;
    std::uint32_t left_to_write_ = 0;
    Instant next_write_{};
    std::uint64_t steps_ = 0;
    std::uint64_t starts_ = 0;
};

// The whole of one seed.
RunResult simulate(const Profile& profile, bool trace = false);

}  // namespace postroom::sim
