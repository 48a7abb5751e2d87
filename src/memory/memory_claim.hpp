// Which messages a claim takes.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/memory_queue.hpp"

namespace postroom {

// The seqs of up to `batch` messages for the claim with number `claim_number`, in the order in
// which they are handed out: higher priority first, then by seq.
// See queue/claim_passes.hpp for how the batch is shared.
std::vector<std::uint64_t> choose_claim(const MemoryRows& rows, std::uint32_t batch,
                                        std::uint64_t claim_number, Instant now);

}  // namespace postroom
