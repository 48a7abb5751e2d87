// FunctionStore: the store as a program in another language would use it, through the SQL functions
// infra.outbox_* and infra.inbox_*.
//
// What the functions do not offer (born leases, policies of the caller, looking around) goes to the
// library's own store. What they do not tell (the state before, whether a key existed) is read
// beside them, and may be out of date when others are at work.
#pragma once

#include <string>

#include "conformance/forwarding_store.hpp"
#include "queue/hot_path.hpp"

namespace postroom::test {

class FunctionStore final : public ForwardingStore {
public:
    // `inner` must outlive this object; `url` leads to the same database.
    FunctionStore(Store& inner, std::string url);

    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born) override;
    std::vector<ReceiveResult> receive(TxContext* tx, std::span<const ReceivedMessage> messages,
                                       bool revive) override;
    SeenResult see(TxContext* tx, const InboxKey& key,
                   const std::optional<std::string>& hash) override;
    std::optional<State> mark(TxContext* tx, const InboxKey& key, State state,
                              const std::string& error) override;
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop) override;
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override;
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop) override;

private:
    // Runs `act` in `tx`, or in a transaction of its own that is repeated when it meets a conflict.
    template <class Act>
    auto run_in(TxContext* tx, const Act& act);

    const std::string url_;
};

}  // namespace postroom::test
