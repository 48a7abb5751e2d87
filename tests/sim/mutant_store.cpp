#include "sim/mutant_store.hpp"

#include <array>
#include <chrono>

namespace postroom::sim {

namespace {

constexpr Duration for_ever = std::chrono::hours{20};

}  // namespace

std::vector<Message> MutantStore::leased(bool only_run_out) {
    std::vector<Message> out;
    for (Message& message : inner().find(Queue::outbox, {.limit = 100'000})) {
        const bool is_leased = message.lease && message.state != State::dead;
        if (is_leased && (message.lease->locked_until <= now()) == only_run_out)
            out.push_back(std::move(message));
    }
    return out;
}

void MutantStore::settle_one(const Message& message, Outcome outcome, Duration delay) {
    inner().settle(
        nullptr, Queue::outbox,
        std::array{Settlement{.lease = message.lease.value(), .outcome = outcome, .delay = delay}});
}

std::vector<EnqueueResult> MutantStore::enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                                const BornLease* born) {
    std::vector<NewMessage> changed(messages.begin(), messages.end());
    std::optional<BornLease> other;
    if (born != nullptr) other = *born;
    if (mutant_ == Mutant::born_lease_never_ends && other) other->lease = for_ever;
    for (NewMessage& message : changed) {
        if (mutant_ == Mutant::ordering_ignored) message.ordering_key.clear();
        if (mutant_ == Mutant::key_remembers_nothing) message.idempotency_key.clear();
    }
    if (mutant_ == Mutant::commit_loses_message && ++calls_ % 8 == 0) {
        std::vector<EnqueueResult> results;
        for (const NewMessage& message : changed)
            results.push_back(
                {.id = {WorkItemId::seq_max / 2 + calls_, 1}, .message_id = message.message_id});
        return results;
    }
    return inner().enqueue(tx, changed, other ? &*other : nullptr);
}

std::vector<Message> MutantStore::claim(Queue queue, const ClaimRequest& request,
                                        std::stop_token stop) {
    if (mutant_ == Mutant::claim_counts_no_loss)
        for (const Message& message : leased(true)) settle_one(message, Outcome::release);
    std::vector<Message> claimed = inner().claim(queue, request, stop);
    if (mutant_ == Mutant::claim_acknowledges)
        for (const Message& message : claimed) settle_one(message, Outcome::ack);
    if (mutant_ == Mutant::claim_returns_leased && claimed.empty()) {
        for (Message& message : leased(false)) {
            if (message.lease->owner == request.owner) continue;
            message.lease->owner = request.owner;
            claimed.push_back(message);
            break;
        }
    }
    return claimed;
}

Settlement MutantStore::mutated(Settlement settlement) {
    const bool by_owner = mutant_ == Mutant::settle_by_owner_only;
    if (mutant_ == Mutant::settle_ignores_lease || by_owner) {
        for (const bool run_out : {false, true})
            for (const Message& message : leased(run_out))
                if (message.id == settlement.lease.id &&
                    (!by_owner || message.lease->owner == settlement.lease.owner))
                    settlement.lease.lease_id = message.lease->lease_id;
    }
    const bool retry = settlement.outcome == Outcome::abandon;
    if (mutant_ == Mutant::settle_fails_for_good && retry) settlement.outcome = Outcome::fail;
    if (mutant_ == Mutant::settle_twice_as_many_attempts) settlement.max_attempts *= 2;
    if (mutant_ == Mutant::release_costs_attempt && settlement.outcome == Outcome::release)
        settlement.outcome = Outcome::abandon;
    if (mutant_ == Mutant::retry_at_once) settlement.delay = Duration::zero();
    if (mutant_ == Mutant::claim_before_due && retry) settlement.delay /= 2;
    if (mutant_ == Mutant::retry_never_due && settlement.outcome == Outcome::release)
        settlement.delay = for_ever;
    return settlement;
}

std::vector<Settled> MutantStore::settle(TxContext* tx, Queue queue,
                                         std::span<const Settlement> settlements) {
    std::vector<Settled> results;
    for (const Settlement& settlement : settlements) {
        if (mutant_ == Mutant::settle_forgets_release && settlement.outcome == Outcome::release) {
            results.push_back(Settled::ready);
            continue;
        }
        results.push_back(inner().settle(tx, queue, std::array{mutated(settlement)}).front());
    }
    return results;
}

std::vector<bool> MutantStore::extend(Queue queue, std::span<const Lease> leases, Duration lease) {
    if (mutant_ == Mutant::extend_does_nothing) return std::vector<bool>(leases.size(), true);
    std::vector<bool> results = inner().extend(queue, leases, lease);
    if (mutant_ == Mutant::extend_always_stands) results.assign(leases.size(), true);
    return results;
}

std::uint64_t MutantStore::reap(Queue queue, std::uint32_t limit, std::stop_token stop) {
    if (mutant_ == Mutant::reap_drops_message)
        for (const Message& message : leased(true)) settle_one(message, Outcome::ack);
    if (mutant_ == Mutant::reap_takes_live_leases)
        for (const Message& message : leased(false)) settle_one(message, Outcome::release);
    return inner().reap(queue, limit, stop);
}

}  // namespace postroom::sim
