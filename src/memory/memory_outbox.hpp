// MemoryOutbox: the outgoing queue of a MemoryStore, with its idempotency keys and its history.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "memory/memory_queue.hpp"
#include "postroom/open_store.hpp"
#include "queue/hot_path.hpp"

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

    // The message that has this key.
    std::optional<EnqueueResult> find_key(const IdempotencyKey& key) const;

    PurgeResult purge(const PurgeRequest& request, Instant now) override;

private:
    // Outlives the message: it keeps a second one out even after the first was delivered.
    struct TakenKey {
        WorkItemId id;
        MessageId message_id;
        Instant created_at;
    };

    void delivered(MemoryRow row, const OwnerToken& owner, Instant now) override;
    const MemoryRow* delivered_row(std::uint64_t seq) const override { return history_.find(seq); }
    void append_unqueued(std::vector<Message>& messages) const override;

    Duration dedupe_window_;
    MemoryTable<IdempotencyKey, TakenKey> keys_;
    MemoryRows history_;
};

}  // namespace postroom
