#include "memory/memory_inbox.hpp"

#include <algorithm>
#include <utility>

#include "memory/memory_purge.hpp"
#include "queue/message_fields.hpp"

namespace postroom {

namespace {

bool differs(const std::optional<std::string>& stored, const std::optional<std::string>& given) {
    return stored && given && *stored != *given;
}

}  // namespace

State MemoryInbox::state_of(const Entry& entry, Instant now) const {
    return entry.queued_seq ? rows().find(*entry.queued_seq)->state(now) : entry.state;
}

void MemoryInbox::refresh_row(const Entry& entry) {
    if (!entry.queued_seq) return;
    Message& message = rows().edit(*entry.queued_seq).message;
    message.hash = entry.hash;
    message.created_at = entry.first_seen;
    message.last_seen = entry.last_seen;
}

void MemoryInbox::insert_entry(const InboxKey& key, Instant now) {
    Entry entry;
    entry.first_seen = now;
    entry.last_seen = now;
    entries_.insert(key, std::move(entry));
}

ReceiveResult MemoryInbox::receive(const ReceivedMessage& message, const WorkItemId& id,
                                   bool revive, Instant now) {
    const InboxKey key = message.key();
    ReceiveResult result;
    if (const Entry* known = entries_.find(key)) {
        result.previous = state_of(*known, now);
        result.hash_mismatch = differs(known->hash, message.hash);
    } else {
        insert_entry(key, now);
    }

    Entry& entry = entries_.edit(key);
    entry.last_seen = now;
    if (!entry.hash) entry.hash = message.hash;

    const bool done = result.previous == State::done;
    // A lease that has run out counts too: its holder may still settle what it was given.
    const bool leased = entry.queued_seq && rows().find(*entry.queued_seq)->message.lease;
    if (!done && !leased) {
        if (message.hash) entry.hash = message.hash;
        entry.topic = message.topic.str();
        if (entry.queued_seq)
            update_row(message, rows().edit(*entry.queued_seq), revive, now);
        else
            insert_row(message, id, entry, revive, now);
    }
    refresh_row(entry);
    if (entry.queued_seq) result.id = rows().find(*entry.queued_seq)->message.id;
    return result;
}

void MemoryInbox::insert_row(const ReceivedMessage& message, const WorkItemId& id, Entry& entry,
                             bool revive, Instant now) {
    MemoryRow row;
    row.message.id = id;
    row.message.queue = Queue::inbox;
    row.message.message_id = MessageId{message.message_id};
    row.message.source = message.source;
    row.message.aggregate_type = AggregateType::global_name;
    take_content(message, row.message);
    schedule_new(row, now);
    if (entry.state == State::dead && !revive) row.die(DeadReason::failed, entry.last_error, now);
    entry.queued_seq = id.seq();
    rows().insert(id.seq(), std::move(row));
}

void MemoryInbox::update_row(const ReceivedMessage& message, MemoryRow& row, bool revive,
                             Instant now) {
    take_content(message, row.message);
    row.frees_key = row.frees_key && !message.ordering_key.empty();
    const Instant available_at = std::max(message.due_time.value_or(now), now);
    if (!row.dead())
        row.wait_until(available_at);
    else if (revive)
        row.revive(available_at);
}

SeenResult MemoryInbox::see(const InboxKey& key, const std::optional<std::string>& hash,
                            Instant now) {
    const Entry* known = entries_.find(key);
    if (known == nullptr) {
        insert_entry(key, now);
        entries_.edit(key).hash = hash;
        return {};
    }
    const SeenResult result{.previous = state_of(*known, now),
                            .hash_mismatch = differs(known->hash, hash)};
    Entry& entry = entries_.edit(key);
    entry.last_seen = now;
    // The stored hash is that of the stored content, and no new content came with this one.
    if (!entry.hash) entry.hash = hash;
    refresh_row(entry);
    return result;
}

std::optional<State> MemoryInbox::mark(const InboxKey& key, State state, const std::string& error,
                                       Instant now) {
    const Entry* known = entries_.find(key);
    if (known == nullptr) return std::nullopt;
    const State previous = state_of(*known, now);
    if (previous == State::done) return previous;

    Entry& entry = entries_.edit(key);
    if (state == State::ready) {
        mark_ready(entry, now);
    } else if (state == State::dead) {
        mark_dead(entry, error, now);
    } else {
        POSTROOM_ASSERT(state == State::done);
        if (entry.queued_seq) note_past(entry, rows().take(*entry.queued_seq).message);
        finish(entry, "", now);
    }
    return previous;
}

void MemoryInbox::mark_ready(Entry& entry, Instant now) {
    entry.state = State::ready;
    if (!entry.queued_seq) return;
    const MemoryRow& row = *rows().find(*entry.queued_seq);
    const bool claimable = row.fresh && !row.message.lease;
    if (!claimable) rows().edit(*entry.queued_seq).wait_until(now);
}

void MemoryInbox::mark_dead(Entry& entry, const std::string& error, Instant now) {
    entry.state = State::dead;
    entry.last_error = error;
    if (entry.queued_seq) rows().edit(*entry.queued_seq).die(DeadReason::failed, error, now);
}

void MemoryInbox::finish(Entry& entry, const std::string& processed_by, Instant now) {
    entry.queued_seq.reset();
    entry.state = State::done;
    entry.processed_at = now;
    entry.processed_by = processed_by;
}

void MemoryInbox::note_past(Entry& entry, const Message& message) {
    entry.retry_count = message.retry_count;
    entry.last_error = message.last_error;
}

void MemoryInbox::delivered(MemoryRow row, const OwnerToken& owner, Instant now) {
    Entry& entry = entries_.edit(row.message.key());
    note_past(entry, row.message);
    finish(entry, owner.to_string(), now);
    if (!keeps_history()) return;
    entry.payload = std::move(row.message.payload);
    entry.content_type = std::move(row.message.content_type);
    entry.headers = std::move(row.message.headers);
}

void MemoryInbox::append_unqueued(std::vector<Message>& messages) const {
    for (const auto& [key, entry] : entries_) {
        if (entry.queued_seq) continue;
        Message message;
        message.queue = Queue::inbox;
        message.state = entry.state;
        message.source = key.source;
        message.message_id = MessageId{key.message_id};
        message.topic = entry.topic;
        message.hash = entry.hash;
        message.created_at = entry.first_seen;
        message.last_seen = entry.last_seen;
        message.available_at = entry.first_seen;
        message.processed_at = entry.processed_at;
        message.processed_by = entry.processed_by;
        message.last_error = entry.last_error;
        message.retry_count = entry.retry_count;
        message.payload = entry.payload;
        message.content_type = entry.content_type;
        message.headers = entry.headers;
        if (entry.state == State::dead) message.dead_reason = DeadReason::failed;
        messages.push_back(std::move(message));
    }
}

PurgeResult MemoryInbox::purge(const PurgeRequest& request, Instant now) {
    const std::uint64_t count = purge_rows(entries_, request.batch, [&](const Entry& entry) {
        return !entry.queued_seq && entry.state == State::done &&
               entry.last_seen <= now - request.older_than;
    });
    return {.purged = count, .more = count == request.batch};
}

}  // namespace postroom
