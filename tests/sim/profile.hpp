// Profile: what one seed simulates: how many processes, with which options, in which weather.
#pragma once

#include <cstdint>

#include "postroom/dispatcher.hpp"
#include "sim/mutant.hpp"

namespace postroom::sim {

// How often, in thousandths.
struct Weather {
    // Of the calls to the database.
    unsigned call_fails = 0;      // before its effect
    unsigned settle_fails = 0;    // of the settlements alone
    unsigned reply_lost = 0;      // after it
    unsigned request_lost = 0;    // nobody knows, and nothing happened
    unsigned call_slow = 0;       // time passes inside
    unsigned crash_in_call = 0;   // before or after its effect
    unsigned threads_switch = 0;  // other threads and processes run inside
    // Of the steps of the world.
    unsigned crash = 0;
    unsigned pause = 0;  // a process stands still for up to three leases
    unsigned jump = 0;   // of a process's clock
    unsigned late = 0;   // time passes although somebody has something to do
    unsigned spurious = 0;
    unsigned destination_turns = 0;
};

struct Profile {
    std::uint64_t seed = 0;
    bool faults = true;
    Weather weather{};
    std::uint32_t process_count = 1;  // with a dispatcher
    bool separate_writer = false;     // one more process that only writes
    std::uint32_t message_count = 0;
    std::uint32_t step_count = 0;  // before the weather clears
    bool handlers_fail = false;
    bool clocks_go_back = false;
    unsigned close = 0;              // graceful; thousandths of the steps
    unsigned topic_pause = 0;        // thousandths of the steps
    bool one_down_for_ever = false;  // the destination "far"
    DispatcherOptions options{};
    Mutant mutant = Mutant::none;
};

// Every fourth seed, and every one with `calm`, has no faults at all.
Profile draw_profile(std::uint64_t seed, bool calm = false);

}  // namespace postroom::sim
