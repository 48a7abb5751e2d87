// MemoryInbox: the incoming queue of a MemoryStore, with its memory of every message it has heard
// of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "memory/memory_queue.hpp"

namespace postroom {

class MemoryInbox final : public MemoryQueue {
public:
    MemoryInbox(UndoLog& log, const OpenOptions& options)
        : MemoryQueue(log, options), entries_(log) {}

    // See Store. `id` is used if the message is queued for the first time.
    ReceiveResult receive(const ReceivedMessage& message, const WorkItemId& id, bool revive,
                          Instant now);
    SeenResult see(const InboxKey& key, const std::optional<std::string>& hash, Instant now);
    std::optional<State> mark(const InboxKey& key, State state, const std::string& error,
                              Instant now);

    PurgeResult purge(const PurgeRequest& request, Instant now) override;

private:
    // What is known of a message. While it is queued, its row tells state and last error; the
    // fields here are for when it is not: seen, done, or only marked as ready or dead.
    struct Entry {
        std::optional<std::uint64_t> queued_seq;
        State state = State::seen;
        std::string topic;
        std::optional<std::string> hash;
        Instant first_seen{};
        Instant last_seen{};
        std::optional<Instant> processed_at;
        std::string processed_by;
        std::string last_error;
        // Of one that is done.
        std::uint32_t retry_count = 0;
        std::string payload;
        std::string content_type;
        Headers headers;
    };

    void delivered(MemoryRow row, const OwnerToken& owner, Instant now) override;
    void append_unqueued(std::vector<Message>& messages) const override;

    State state_of(const Entry& entry, Instant now) const;
    void insert_entry(const InboxKey& key, Instant now);
    // Copies what the rows show of their entry.
    void refresh_row(const Entry& entry);
    void insert_row(const ReceivedMessage& message, const WorkItemId& id, Entry& entry, bool revive,
                    Instant now);
    void update_row(const ReceivedMessage& message, MemoryRow& row, bool revive, Instant now);
    void mark_ready(Entry& entry, Instant now);
    void mark_dead(Entry& entry, const std::string& error, Instant now);
    static void finish(Entry& entry, const std::string& processed_by, Instant now);
    // What it has lived through stays known.
    static void note_past(Entry& entry, const Message& message);

    MemoryTable<InboxKey, Entry> entries_;
};

}  // namespace postroom
