// Inbox: receive messages that may come twice, and let each take effect once.
//
// A message is known by (source, message_id), compared byte by byte. Receiving is an upsert: the
// first arrival is queued, later ones only refresh it, and one that is done stays done until it is
// purged. The work-queue verbs come from WorkQueue; settled by message id they look among the
// owner's leases only.
//
// Exactly once: write your effect and the done mark in one transaction, with once() or with
// ack(tx, messages).
//
// Thread safety: an Inbox may be shared between threads.
#pragma once

#include <atomic>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postroom/detail/callable.hpp"
#include "postroom/work_queue.hpp"

namespace postroom {

// SHA-256 of a payload, 32 bytes: the hash to give to enqueue() and already_processed().
std::string content_hash(std::string_view payload);

struct InboxOptions {
    WorkQueueOptions queue{};
    // Called when a message arrives again with another hash: the sender reused an id, or somebody
    // tampered. The operation goes on. Must not throw.
    std::function<void(const InboxKey&)> on_hash_mismatch{};
};

// Whether an arrival makes a message ready again that is dead.
enum class Revive : bool { no, yes };

class Inbox : public WorkQueue {
public:
    // `store` must outlive this object.
    explicit Inbox(Store& store, const InboxOptions& options = {});

    // True when the message is done. Otherwise notes that it was seen and returns false. A hash is
    // stored at first sight and compared later. With `tx` all of this is part of that transaction.
    [[nodiscard]] bool already_processed(const InboxKey& key,
                                         const std::optional<std::string>& hash = {},
                                         std::stop_token stop = {}) const;
    [[nodiscard]] bool already_processed(TxContext& tx, const InboxKey& key,
                                         const std::optional<std::string>& hash = {}) const;

    // Set the state by hand, from any state but done; a lease is dropped. False: there is no such
    // message.
    bool mark_processing(const InboxKey& key, std::stop_token stop = {}) const;
    bool mark_processing(TxContext& tx, const InboxKey& key) const;
    bool mark_processed(const InboxKey& key, std::stop_token stop = {}) const;
    bool mark_processed(TxContext& tx, const InboxKey& key) const;
    bool mark_dead(const InboxKey& key, std::string_view error = {},
                   std::stop_token stop = {}) const;
    bool mark_dead(TxContext& tx, const InboxKey& key, std::string_view error = {}) const;

    // Queues the message unless it is done. Again for one that is not: topic, payload, hash and due
    // time are taken from the new arrival, but for a message that is being handled right now. Dead
    // stays dead unless revived.
    ReceiveResult enqueue(const ReceivedMessage& message, Revive revive = Revive::no,
                          std::stop_token stop = {}) const;
    ReceiveResult enqueue(TxContext& tx, const ReceivedMessage& message,
                          Revive revive = Revive::no) const;
    std::vector<ReceiveResult> enqueue_all(std::span<const ReceivedMessage> messages,
                                           Revive revive = Revive::no,
                                           std::stop_token stop = {}) const;
    std::vector<ReceiveResult> enqueue_all(TxContext& tx, std::span<const ReceivedMessage> messages,
                                           Revive revive = Revive::no) const;

    // Runs `effect` in the caller's transaction, and marks the message done in it, unless it has
    // taken effect before; true when it ran. Commit makes both stand, a rollback neither.
    // Concurrent calls for one message wait for each other. When `effect` throws, roll back.
    template <std::invocable F>
    bool once(TxContext& tx, const InboxKey& key, F&& effect) const {
        static_assert(detail::Returns<F, void>,
                      "an effect returns void: what takes it back is an exception");
        if (already_processed(tx, key)) return false;
        std::invoke(std::forward<F>(effect));
        mark_processed(tx, key);
        return true;
    }

    // Settle by message id: among the leases of `owner`. Error{misuse} when two of them carry the
    // same id from different sources. They return how many messages changed.
    using WorkQueue::abandon;
    using WorkQueue::ack;
    using WorkQueue::fail;
    std::uint64_t ack(const OwnerToken& owner, std::span<const std::string> message_ids,
                      std::stop_token stop = {}) const;
    std::uint64_t abandon(const OwnerToken& owner, std::span<const std::string> message_ids,
                          std::string_view error = {}, std::optional<Duration> delay = {},
                          std::stop_token stop = {}) const;
    std::uint64_t fail(const OwnerToken& owner, std::span<const std::string> message_ids,
                       std::string_view error, std::stop_token stop = {}) const;

    // The message with this key, whatever its state. By its id alone: Error{misuse} when several
    // sources use the id.
    using WorkQueue::get;
    std::optional<Message> get(const InboxKey& key, std::stop_token stop = {}) const;
    std::optional<Message> get(const MessageId& message_id, std::stop_token stop = {}) const;

    // How often a hash did not match, since this object was made.
    std::uint64_t hash_mismatches() const { return *mismatches_; }

private:
    std::vector<Lease> leases_by_message_id(const OwnerToken& owner,
                                            std::span<const std::string> message_ids,
                                            const std::stop_token& stop) const;
    bool see(TxContext* tx, const InboxKey& key, const std::optional<std::string>& hash) const;
    bool mark(TxContext* tx, const InboxKey& key, State state, std::string_view error = {}) const;
    std::vector<ReceiveResult> receive(TxContext* tx, std::span<const ReceivedMessage> messages,
                                       Revive revive) const;
    void note_mismatch(const InboxKey& key) const;
    void notify(EventKind kind, const ReceivedMessage& received, State state = State::ready) const;

    const std::function<void(const InboxKey&)> on_hash_mismatch_;
    const std::unique_ptr<std::atomic<std::uint64_t>> mismatches_;
};

}  // namespace postroom
