// How a claim shares its batch between the bands of messages: one rule for every store.
//
// A claim goes through passes. Each leases messages of one band, in the order of that band, until
// so many are leased in all as its ceiling says:
//
//   urgent       fresh, priority above 0: the highest first, then the oldest
//   keyed        the first of its ordering key, its time has come, longest due first
//   due          waiting, its time has come (retries, deferred, lost), longest due first
//   low          waiting, priority below 0, its time has come, longest due first
//   fresh        never claimed, by seq                                       } until the batch is
//   full keyed again due, keyed, low once more                                                }
//   until the batch is full
//
// So half of the batch is for messages that waited and half of that half for ordering keys, and
// what one does not use falls to the others. Urgent messages come before all that, but every fourth
// claim goes by age: there they are merely fresh, and low ones have a share. The odd place goes to
// each in turn, so that a batch of one starves nobody.
#pragma once

#include <cstdint>

namespace postroom {

// The ceilings of the passes that have one of their own.
struct ClaimPasses {
    std::uint32_t urgent = 0;
    std::uint32_t keyed = 0;
    std::uint32_t due = 0;
    std::uint32_t low = 0;
    std::uint32_t keyed_again = 0;

    friend bool operator==(const ClaimPasses&, const ClaimPasses&) = default;
};

// For the claim with this number; the rule repeats itself every 32 claims.
ClaimPasses claim_passes(std::uint32_t batch, std::uint64_t claim_number);

}  // namespace postroom
