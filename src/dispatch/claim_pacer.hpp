// ClaimPacer: decides when to claim and how much. Pure; knows neither threads nor databases.
//
// A full batch claims again at once. Anything less looks again soon, because a ring of the doorbell
// stands for all that is committed shortly after it, and from then on ever more rarely: at
// `recheck` first, doubling up to `poll_interval_max`. Between two rings nothing but these polls
// finds what foreign writers put into the table. All who listen hear every ring, so one that comes
// within `ring_rest` of a claim that found less than it asked for waits until that is over.
#pragma once

#include <cstdint>

#include "postroom/clock.hpp"

namespace postroom {

struct PacingOptions {
    std::uint32_t batch = 50;
    Duration recheck = std::chrono::milliseconds{20};
    Duration ring_rest = std::chrono::milliseconds{2};
    Duration poll_interval_max = std::chrono::seconds{5};
    Duration expected_gap = std::chrono::milliseconds{100};
    Duration failure_pause = std::chrono::milliseconds{100};  // doubled by each failure in a row
};

class ClaimPacer {
public:
    explicit ClaimPacer(const PacingOptions& options)
        : options_(options), idle_(options.recheck), pause_(options.failure_pause) {}

    struct Step {
        std::uint32_t claim_count = 0;  // zero: do not claim, wait
        Instant wait_until{};           // for ever when there is no room: somebody will say so
    };
    Step next(Instant now, std::size_t slots_free) const;

    // `useful`: those of `got` that can be delivered now. What was claimed only to be held back is
    // no reason to hurry, but behind a full batch of it there may be others.
    void claimed(Instant now, std::uint32_t asked, std::size_t got, std::size_t useful);
    void failed(Instant now);
    // Something was committed that may be claimable. A hint only: correctness rests on polling.
    void nudged();
    // Something that was given back is due at `at`. What is due in quick succession is claimed
    // together.
    void expected(Instant now, Instant at);
    // The doorbell rang: something was committed, perhaps in another process's part of the queue.
    void rung();

private:
    const PacingOptions options_;
    Instant next_at_{};      // the past: at once
    Instant rests_until_{};  // whatever rings
    Duration idle_;          // how long to wait after the next claim that finds nothing
    Duration pause_;         // how long to wait after the next failure
    bool failing_ = false;
};

}  // namespace postroom
