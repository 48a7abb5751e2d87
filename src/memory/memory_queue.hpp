// MemoryQueue: what outbox and inbox of a MemoryStore have in common: messages that are claimed,
// leased, settled.
//
// Time is handed in. Leases that have run out stand until somebody takes them back: their holder
// may still settle.
//
// Thread safety: none; the store calls it under its mutex.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/memory_table.hpp"
#include "postroom/message.hpp"
#include "postroom/open_store.hpp"
#include "postroom/operator.hpp"

namespace postroom {

// A queued message. Its stored state is ready or dead; a lease that has not run out makes a ready
// one in_progress.
struct MemoryRow {
    Message message;
    // Never failed, lost, released, deferred or changed, not of low priority, and without an
    // ordering key: claimed in order of seq. The others are claimed in the order in which they fall
    // due. Once waiting, a message stays so.
    bool fresh = true;
    // Dead, and not in the way of later messages of its ordering key.
    bool frees_key = false;
    std::vector<FailedAttempt> attempts{};  // the last ones, oldest first

    bool dead() const { return message.state == State::dead; }
    // Whether later messages of its ordering key must wait for it.
    bool stands_in_line() const { return !message.ordering_key.empty() && !frees_key; }
    State state(Instant now) const;
    // As it is shown to the outside.
    Message shown(Instant now) const;

    // Claimable from `available_at` on, by anybody; an expired message does not wait.
    void wait_until(Instant available_at);
    void die(DeadReason reason, const std::string& error, Instant now, bool free_key = false);
    void note_attempt(const Settlement& settlement, Instant now);
    // Out of the dead, as if it had never been tried.
    void revive(Instant available_at);
};

using MemoryRows = MemoryTable<std::uint64_t, MemoryRow>;

// The first fresh-or-not decision, and when a new message falls due.
void schedule_new(MemoryRow& row, Instant now);

class MemoryQueue {
public:
    MemoryQueue(UndoLog& log, const OpenOptions& options)
        : keep_history_(options.keep_history),
          old_failure_attempts_(options.old_failure_attempts),
          rows_(log) {}
    MemoryQueue(const MemoryQueue&) = delete;
    MemoryQueue& operator=(const MemoryQueue&) = delete;
    virtual ~MemoryQueue() = default;

    // See Store for what these do.
    std::vector<Message> claim(const ClaimRequest& request, LeaseId lease_id, Instant now);
    Settled settle(const Settlement& settlement, Instant now);
    bool extend(const Lease& lease, Instant locked_until);
    std::uint64_t reap(std::uint64_t limit, Instant now);
    bool redrive(const WorkItemId& id, Instant now);
    bool retry_now(const WorkItemId& id, Instant now);
    // Leases the message if it is dead, or ready and held by nobody.
    bool hold(const Lease& lease, Instant now);
    std::vector<FailedAttempt> attempts(const WorkItemId& id) const;
    std::vector<Message> find(const Query& query, Instant now) const;
    Counts counts(Instant now) const;
    virtual PurgeResult purge(const PurgeRequest& request, Instant now) = 0;

protected:
    MemoryRows& rows() { return rows_; }
    const MemoryRows& rows() const { return rows_; }
    bool keeps_history() const { return keep_history_; }

private:
    // Keeps what is to be kept of a message that was acknowledged and has left the rows.
    virtual void delivered(MemoryRow row, const OwnerToken& owner, Instant now) = 0;
    // What is kept of a message that was delivered; nullptr: nothing.
    virtual const MemoryRow* delivered_row(std::uint64_t) const { return nullptr; }
    // Appends those that are known but not queued.
    virtual void append_unqueued(std::vector<Message>& messages) const = 0;

    // Whether `lease` is the one that the message carries, run out or not.
    bool stands(const Lease& lease) const;
    Settled fail(const Settlement& settlement, Instant now);
    Settled abandon(const Settlement& settlement, Instant now);
    std::vector<Message> messages(Instant now) const;

    const bool keep_history_;
    const std::uint32_t old_failure_attempts_;
    MemoryRows rows_;
    std::uint64_t claim_count_ = 0;
};

}  // namespace postroom
