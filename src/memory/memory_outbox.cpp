#include "memory/memory_outbox.hpp"

#include <utility>

#include "memory/memory_purge.hpp"
#include "queue/message_fields.hpp"

namespace postroom {

namespace {

Message queued_message(const NewMessage& message, const WorkItemId& id, Instant now) {
    Message queued = stored_form(message);
    queued.id = id;
    queued.created_at = now;
    note_occurrence(queued);
    return queued;
}

}  // namespace

MemoryOutbox::MemoryOutbox(UndoLog& log, const OpenOptions& options)
    : MemoryQueue(log, options), dedupe_window_(options.dedupe_window), keys_(log), history_(log) {}

EnqueueResult MemoryOutbox::enqueue(const NewMessage& message, const WorkItemId& id,
                                    const BornLease* born, Instant now) {
    if (!message.idempotency_key.empty()) {
        const IdempotencyKey key{message.tenant_id, message.idempotency_key};
        if (const std::optional<EnqueueResult> taken = find_key(key)) return *taken;
        keys_.insert(key, {.id = id, .message_id = message.message_id, .created_at = now});
    }
    MemoryRow row{.message = queued_message(message, id, now)};
    schedule_new(row, now);
    if (born != nullptr)
        row.message.lease = Lease{.id = id,
                                  .lease_id = born->lease_id,
                                  .owner = born->owner,
                                  .locked_until = now + born->lease};
    rows().insert(id.seq(), std::move(row));
    return {.id = id, .message_id = message.message_id};
}

std::optional<EnqueueResult> MemoryOutbox::find_key(const IdempotencyKey& key) const {
    const TakenKey* const taken = keys_.find(key);
    if (taken == nullptr) return std::nullopt;
    return EnqueueResult{.id = taken->id, .message_id = taken->message_id, .already_existed = true};
}

void MemoryOutbox::delivered(MemoryRow row, const OwnerToken& owner, Instant now) {
    if (!keeps_history()) return;
    Message& message = row.message;
    message.state = State::done;
    message.lease.reset();
    message.last_error.clear();
    message.dead_reason = DeadReason::none;
    message.died_at.reset();
    message.available_at = message.due_time.value_or(message.created_at);
    message.processed_at = now;
    message.processed_by = owner.to_string();
    const std::uint64_t seq = message.id.seq();
    history_.insert(seq, std::move(row));
}

void MemoryOutbox::append_unqueued(std::vector<Message>& messages) const {
    for (const auto& [seq, row] : history_) messages.push_back(row.message);
}

PurgeResult MemoryOutbox::purge(const PurgeRequest& request, Instant now) {
    const std::uint64_t delivered_count =
        purge_rows(history_, request.batch, [&](const MemoryRow& row) {
            return *row.message.processed_at <= now - request.older_than;
        });
    const std::uint64_t key_count = purge_rows(keys_, request.batch, [&](const TakenKey& key) {
        return key.created_at <= now - dedupe_window_;
    });
    return {.purged = delivered_count + key_count,
            .more = delivered_count == request.batch || key_count == request.batch};
}

}  // namespace postroom
