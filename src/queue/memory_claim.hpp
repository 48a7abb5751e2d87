// Which messages a claim takes.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/memory_queue.hpp"

namespace postroom {

// The seqs of up to `batch` messages for the claim with number `claim_number`, in the order in
// which they are handed out: higher priority first, then by seq.
//
//   urgent  fresh, priority above 0: first of all, the highest priority and then the oldest first
//   fresh   by seq                                          } share what is left, half each,
//   due     waiting, its time has come, longest due first   } and one has what the other leaves
//   low     priority below 0, longest due first: what is left of all that
//
// Messages with an ordering key are due ones, whatever their priority: the first of its key when
// its time has come, while none of the key is leased.
//
// Every fourth claim goes by age: urgent ones are merely fresh and low ones merely due, so that
// nobody starves.
std::vector<std::uint64_t> choose_claim(const MemoryRows& rows, std::uint32_t batch,
                                        std::uint64_t claim_number, Instant now);

}  // namespace postroom
