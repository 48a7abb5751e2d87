// MemoryOutbox: the outgoing queue of a MemoryStore, with its idempotency keys and its history.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "postroom/open_store.hpp"
#include "queue/memory_queue.hpp"

namespace postroom {

struct IdempotencyKey {
    std::string tenant_id;
    std::string key;

    friend auto operator<=>(const IdempotencyKey&, const IdempotencyKey&) = default;
};

class MemoryOutbox final : public MemoryQueue {
public:
    MemoryOutbox(UndoLog& log, const OpenOptions& options);

    // Stores `message` as `id`, unless its idempotency key is taken.
    EnqueueResult enqueue(const NewMessage& message, const WorkItemId& id, const BornLease* born,
                          Instant now);

    PurgeResult purge(const PurgeRequest& request, Instant now) override;

private:
    // Outlives the message: it keeps a second one out even after the first was delivered.
    struct TakenKey {
        WorkItemId id;
        MessageId message_id;
        Instant created_at;
    };

    void delivered(Message message, const OwnerToken& owner, Instant now) override;
    void append_unqueued(std::vector<Message>& messages) const override;

    bool keep_history_;
    Duration dedupe_window_;
    MemoryTable<IdempotencyKey, TakenKey> keys_;
    MemoryTable<std::uint64_t, Message> history_;
};

}  // namespace postroom
