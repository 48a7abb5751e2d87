// The race for messages: many workers on one queue, and what they saw of each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "postroom/clock.hpp"
#include "postroom/message.hpp"
#include "postroom/outbox.hpp"
#include "torture/holds.hpp"

namespace postroom::test {

inline constexpr std::size_t race_worker_count = 32;

// Enqueues `count` messages, a thousand at a time.
void fill_race(const Outbox& outbox, std::uint64_t count);

// What all workers together saw.
struct Sightings {
    std::mutex mutex;
    torture::Holds holds;
    std::map<std::string, int> acked;
    std::vector<std::string> errors;
    std::uint64_t lost = 0;       // settlements that came too late
    std::uint64_t conflicts = 0;  // calls that gave up after all their retries

    void note_claim(const std::vector<Message>& messages, Duration lease);
    void note_attempt(const std::vector<Message>& messages, Instant at);
    void note_results(const std::vector<Message>& messages, const std::vector<Settled>& results);
    std::vector<std::string> acked_twice() const;
};

struct RaceHabits {
    Duration lease = std::chrono::minutes{5};
    int abandon_percent = 0;
    int late_percent = 0;          // of the batches: settled after the lease ended
    bool bears_conflicts = false;  // tries again when the store has given up, as a dispatcher does
};

// Lets the workers empty a queue of `count` messages, which has all of `urls` for addresses;
// returns how long it took.
std::chrono::duration<double> race(const std::vector<std::string>& urls, std::uint64_t count,
                                   Sightings& sightings, const RaceHabits& habits,
                                   std::uint64_t seed);

// None missed, none held twice, none acknowledged twice; and the figures.
void judge_race(const char* title, std::uint64_t count, std::chrono::duration<double> took,
                const Sightings& sightings, std::uint64_t seed);

}  // namespace postroom::test
