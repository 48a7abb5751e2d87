// Mutants: bugs that are planted to show that the checker sees them. Each is a way in which a
// database, a hot path or a dispatcher could be wrong; none needs a switch in the product.
#pragma once

#include <cstdint>

namespace postroom::sim {

enum class Mutant : std::uint8_t {
    none,
    // The database.
    settle_ignores_lease,
    settle_by_owner_only,
    settle_forgets_release,
    settle_fails_for_good,
    settle_twice_as_many_attempts,
    release_costs_attempt,
    retry_at_once,
    retry_never_due,
    extend_always_stands,
    extend_does_nothing,
    claim_returns_leased,
    claim_counts_no_loss,
    claim_acknowledges,
    claim_before_due,
    reap_drops_message,
    reap_takes_live_leases,
    born_lease_never_ends,
    ordering_ignored,
    key_remembers_nothing,
    commit_loses_message,
    // The hot path.
    hand_over_before_commit,
    hand_over_after_rollback,
    hand_over_when_unknown,
    hand_over_again_later,
    // The dispatcher.
    outage_costs_attempt,
    failure_acknowledged,
    started_past_deadline,
    ack_before_handler,
    outage_taken_for_success,
    leases_not_renewed,
    wake_ups_lost,
    losses_overlooked,
    close_without_release,
};

}  // namespace postroom::sim
