// MutantStore: a database with one bug.
#pragma once

#include <vector>

#include "conformance/forwarding_store.hpp"
#include "queue/hot_path.hpp"
#include "sim/mutant.hpp"

namespace postroom::sim {

class MutantStore final : public test::ForwardingStore {
public:
    MutantStore(Store& database, Mutant mutant) : ForwardingStore(database), mutant_(mutant) {}

    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born = nullptr) override;
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop = {}) override;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override;
    std::vector<bool> extend(Queue queue, std::span<const Lease> leases, Duration lease) override;
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop = {}) override;

private:
    std::vector<Message> leased(bool only_run_out);
    Settlement mutated(Settlement settlement);
    void settle_one(const Message& message, Outcome outcome, Duration delay = {});

    const Mutant mutant_;
    std::uint64_t calls_ = 0;
};

}  // namespace postroom::sim
