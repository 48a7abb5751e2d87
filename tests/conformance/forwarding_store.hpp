// ForwardingStore: a Store that hands every call to another; derive from it to change some.
#pragma once

#include <span>
#include <vector>

#include "postroom/store.hpp"
#include "queue/hot_path.hpp"

namespace postroom::test {

class ForwardingStore : public Store {
public:
    // `inner` must outlive this object.
    explicit ForwardingStore(Store& inner) : Store(inner.id(), inner.limits()), inner_(inner) {}

    Instant now() override { return inner_.now(); }
    std::unique_ptr<Transaction> begin() override { return inner_.begin(); }
    std::vector<EnqueueResult> enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                       const BornLease* born = nullptr) override {
        return inner_.enqueue(tx, messages, born);
    }
    std::optional<EnqueueResult> find_key(TxContext* tx, const std::string& tenant_id,
                                          const std::string& idempotency_key) override {
        return inner_.find_key(tx, tenant_id, idempotency_key);
    }
    SqlStatement enqueue_statement(const NewMessage& message) override {
        return inner_.enqueue_statement(message);
    }
    std::vector<ReceiveResult> receive(TxContext* tx, std::span<const ReceivedMessage> messages,
                                       bool revive = false) override {
        return inner_.receive(tx, messages, revive);
    }
    SeenResult see(TxContext* tx, const InboxKey& key,
                   const std::optional<std::string>& hash) override {
        return inner_.see(tx, key, hash);
    }
    std::optional<State> mark(TxContext* tx, const InboxKey& key, State state,
                              const std::string& error) override {
        return inner_.mark(tx, key, state, error);
    }
    std::vector<Message> claim(Queue queue, const ClaimRequest& request,
                               std::stop_token stop = {}) override {
        return inner_.claim(queue, request, stop);
    }
    std::vector<Settled> settle(TxContext* tx, Queue queue,
                                std::span<const Settlement> settlements) override {
        return inner_.settle(tx, queue, settlements);
    }
    std::vector<bool> extend(Queue queue, std::span<const Lease> leases, Duration lease) override {
        return inner_.extend(queue, leases, lease);
    }
    std::uint64_t reap(Queue queue, std::uint32_t limit, std::stop_token stop = {}) override {
        return inner_.reap(queue, limit, stop);
    }
    std::vector<Message> find(Queue queue, const Query& query) override {
        return inner_.find(queue, query);
    }
    std::uint64_t redrive(Queue queue, std::span<const WorkItemId> ids) override {
        return inner_.redrive(queue, ids);
    }
    PurgeResult purge(Queue queue, const PurgeRequest& request) override {
        return inner_.purge(queue, request);
    }
    Counts counts(Queue queue) override { return inner_.counts(queue); }
    std::unique_ptr<Doorbell> doorbell(Queue queue) override { return inner_.doorbell(queue); }

protected:
    Store& inner() { return inner_; }

private:
    Store& inner_;
};

}  // namespace postroom::test
