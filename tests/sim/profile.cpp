#include "sim/profile.hpp"

#include "sim/dice.hpp"

namespace postroom::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

DispatcherOptions draw_options(Dice& dice) {
    DispatcherOptions options;
    options.lease = dice.between(seconds{2}, seconds{30});
    options.worker_count = dice.range(1, 3);
    options.batch = dice.range(1, 6);
    options.hot_capacity = dice.range(0, 5);
    options.cold_capacity = dice.range(1, 8);
    options.async_max = dice.range(1, 3);
    options.retry = {.base = milliseconds{dice.range(50, 1000)},
                     .factor = 2.0,
                     .cap = seconds{4},
                     .jitter = dice.chance(500) ? 0.5 : 0.0,
                     .max_attempts = dice.range(1, 5)};
    options.unroutable = dice.chance(500) ? Unroutable::retry : Unroutable::dead;
    options.crash_limit = dice.range(1, 4);
    options.topics["free"].frees_key = true;
    options.topics["free"].retry =
        RetryPolicy{.base = milliseconds{100}, .factor = 1.0, .cap = seconds{1}, .max_attempts = 2};
    options.topics["batch"].destination = "far";
    options.topics["far"].destination = "far";
    options.hold_delay = dice.between(milliseconds{200}, seconds{3});
    options.circuit_open_for = dice.between(milliseconds{100}, seconds{2});
    options.circuit_open_for_max = options.circuit_open_for * 4;
    options.poll_interval_max = dice.between(milliseconds{100}, seconds{5});
    options.settle_delay = dice.between(Duration::zero(), milliseconds{20});
    options.settle_batch = dice.range(1, 5);
    options.reap_interval = dice.between(milliseconds{500}, seconds{10});
    options.retention = Duration::zero();
    return options;
}

Weather draw_weather(Dice& dice) {
    // Most seeds know a few kinds of faults only: what is rare alone would be drowned otherwise.
    const auto rate = [&](unsigned most) { return dice.chance(500) ? 0 : dice.range(1, most); };
    return {.call_fails = rate(120),
            .reply_lost = rate(120),
            .request_lost = rate(60),
            .call_slow = rate(80),
            .crash_in_call = rate(25),
            .threads_switch = rate(400),
            .crash = rate(20),
            .pause = rate(20),
            .jump = rate(20),
            .late = rate(100),
            .spurious = rate(100),
            .destination_turns = rate(30)};
}

}  // namespace

Profile draw_profile(std::uint64_t seed, bool calm) {
    Dice dice(seed);
    Profile profile;
    profile.seed = seed;
    profile.faults = !calm && seed % 4 != 0;
    profile.process_count = dice.range(1, 3);
    profile.separate_writer = dice.chance(300);
    profile.message_count = dice.range(4, 20);
    profile.step_count = dice.range(60, 300);
    profile.handlers_fail = dice.chance(600);
    profile.clocks_go_back = dice.chance(200);
    profile.close = dice.chance(400) ? dice.range(1, 20) : 0;
    profile.topic_pause = dice.chance(300) ? dice.range(1, 20) : 0;
    profile.one_down_for_ever = dice.chance(150);
    profile.options = draw_options(dice);
    if (profile.faults) profile.weather = draw_weather(dice);
    // Everything works but settling: what was handled piles up, within bounds.
    if (profile.faults && dice.chance(30)) {
        profile.weather = {.settle_fails = 1000};
        profile.message_count = 60;
        profile.step_count = 600;
        profile.options.hot_capacity = dice.range(0, 2);
        profile.options.cold_capacity = 1;
        profile.options.worker_count = 1;
        profile.options.async_max = 1;
    }
    // Threads that take turns, and wake-ups for nothing, are no faults.
    if (!profile.faults)
        profile.weather = {.threads_switch = dice.range(0, 300), .spurious = dice.range(0, 100)};
    return profile;
}

}  // namespace postroom::sim
