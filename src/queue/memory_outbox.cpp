#include "queue/memory_outbox.hpp"

#include <utility>

#include "queue/memory_purge.hpp"

namespace postroom {

namespace {

Message queued_message(const NewMessage& message, const WorkItemId& id, Instant now) {
    Message queued;
    queued.id = id;
    queued.queue = Queue::outbox;
    queued.message_id = message.message_id;
    queued.topic = message.topic.str();
    queued.payload = message.payload.value();
    queued.content_type = message.content_type;
    queued.headers = message.headers;
    queued.correlation_id = message.correlation_id;
    queued.tenant_id = message.tenant_id;
    queued.idempotency_key =
        message.idempotency_key.empty() ? message.message_id.str() : message.idempotency_key;
    queued.aggregate_type = message.aggregate_type.str();
    queued.aggregate_id = message.aggregate_id;
    queued.ordering_key = message.ordering_key;
    queued.created_at = now;
    queued.occurred_at = message.occurred_at;
    queued.due_time = message.due_time;
    queued.expires_at = message.expires_at;
    queued.priority = message.priority;
    queued.max_attempts = message.max_attempts;
    return queued;
}

}  // namespace

MemoryOutbox::MemoryOutbox(UndoLog& log, const OpenOptions& options)
    : MemoryQueue(log),
      keep_history_(options.keep_history),
      dedupe_window_(options.dedupe_window),
      keys_(log),
      history_(log) {}

EnqueueResult MemoryOutbox::enqueue(const NewMessage& message, const WorkItemId& id,
                                    const BornLease* born, Instant now) {
    if (!message.idempotency_key.empty()) {
        const IdempotencyKey key{message.tenant_id, message.idempotency_key};
        if (const TakenKey* taken = keys_.find(key))
            return {.id = taken->id, .message_id = taken->message_id, .already_existed = true};
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

void MemoryOutbox::delivered(Message message, const OwnerToken& owner, Instant now) {
    if (!keep_history_) return;
    message.state = State::done;
    message.lease.reset();
    message.last_error.clear();
    message.available_at = message.due_time.value_or(message.created_at);
    message.processed_at = now;
    message.processed_by = owner.to_string();
    const std::uint64_t seq = message.id.seq();
    history_.insert(seq, std::move(message));
}

void MemoryOutbox::append_unqueued(std::vector<Message>& messages) const {
    for (const auto& [seq, message] : history_) messages.push_back(message);
}

PurgeResult MemoryOutbox::purge(const PurgeRequest& request, Instant now) {
    const std::uint64_t delivered_count = purge_rows(
        history_, request.batch,
        [&](const Message& message) { return *message.processed_at <= now - request.older_than; });
    const std::uint64_t key_count = purge_rows(keys_, request.batch, [&](const TakenKey& key) {
        return key.created_at <= now - dedupe_window_;
    });
    return {.purged = delivered_count + key_count,
            .more = delivered_count == request.batch || key_count == request.batch};
}

}  // namespace postroom
