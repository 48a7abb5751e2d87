// Witness: stands before the database and judges each call by what the rows showed before and
// after it: whatever a call may not do, to any message, is a violation.
#pragma once

#include <functional>
#include <vector>

#include "conformance/forwarding_store.hpp"
#include "queue/hot_path.hpp"
#include "sim/ledger.hpp"

namespace postroom::sim {

class Witness final : public test::ForwardingStore {
public:
    Witness(Store& database, Ledger& ledger, Report& report)
        : ForwardingStore(database), ledger_(ledger), report_(report) {}

    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born = nullptr) override;
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop = {}) override;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override;
    std::vector<bool> extend(Queue queue, std::span<const Lease> leases, Duration lease) override;
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop = {}) override;

    // `acknowledged` are the settlements that were made within `tx`.
    void commit(Transaction& tx, std::span<const Settlement> acknowledged);

private:
    void judge_settlement(const Rows& before, const Settlement& settlement, Settled settled);
    void judge_abandon(const Message& row, const Message& after, const Settlement& settlement,
                       Settled settled);
    void judge_claimed(const Rows& before, const Message& claimed, const ClaimRequest& request);
    // All rows are as before, but for those that `excused` says.
    void judge_rest(const Rows& before, const std::function<bool(const Message&)>& excused,
                    const char* call);
    bool ran_out(const Message& row) { return row.lease && row.lease->locked_until <= now(); }
    bool any_ran_out();
    const Message* after(const WorkItemId& id) const;

    Ledger& ledger_;
    Report& report_;
};

}  // namespace postroom::sim
