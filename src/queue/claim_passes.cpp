#include "queue/claim_passes.hpp"

namespace postroom {

ClaimPasses claim_passes(std::uint32_t batch, std::uint64_t claim_number) {
    const std::uint64_t round = claim_number / 4;
    const bool by_age = claim_number % 4 == 3;
    // Counted among the claims of its kind, so that odd places go round in each of the two.
    const std::uint64_t index = by_age ? round : 3 * round + claim_number % 4;
    const auto odd = [index](std::uint64_t every) {
        return static_cast<std::uint32_t>(index / every % 2);
    };
    const std::uint32_t waited = (batch + odd(1)) / 2;
    const std::uint32_t low = by_age ? (waited + odd(4)) / 2 : 0;
    return {.urgent = by_age ? 0 : batch,
            .keyed = (waited - low + odd(2)) / 2,
            .due = waited - low,
            .low = by_age ? waited : 0,
            .keyed_again = odd(1) * batch};
}

}  // namespace postroom
