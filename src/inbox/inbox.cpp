#include "postroom/inbox.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.hpp"
#include "postroom/error.hpp"

namespace postroom {

std::string content_hash(std::string_view payload) {
    const base::Sha256Digest digest = base::sha256(payload);
    return {digest.begin(), digest.end()};
}

Inbox::Inbox(Store& store, const InboxOptions& options)
    : WorkQueue(store, Queue::inbox, options.queue),
      on_hash_mismatch_(options.on_hash_mismatch),
      observer_(options.observer),
      mismatches_(std::make_unique<std::atomic<std::uint64_t>>(0)) {}

void Inbox::note_mismatch(const InboxKey& key) const {
    ++*mismatches_;
    if (on_hash_mismatch_) on_hash_mismatch_(key);
    tell(EventKind::hash_mismatch, {.source = key.source, .message_id = key.message_id});
}

void Inbox::tell(EventKind kind, const ReceivedMessage& received, State state) const {
    if (observer_ == nullptr) return;
    Message message;
    message.queue = queue();
    message.state = state;
    message.topic = received.topic.str();
    message.source = received.source;
    message.message_id = MessageId(received.message_id);
    observer_->observe(
        {.kind = kind, .queue = queue(), .store = store().id(), .message = &message, .count = 1});
}

bool Inbox::already_processed(const std::string& message_id, const std::string& source,
                              const std::optional<std::string>& hash, TxContext* tx) const {
    const InboxKey key{source, message_id};
    validate(key, store().limits());
    if (hash && hash->size() > store().limits().hash_bytes) {
        throw std::invalid_argument(fmt::format("hash: {} bytes, at most {} allowed", hash->size(),
                                                store().limits().hash_bytes));
    }
    const SeenResult seen = store().see(tx, key, hash);
    if (seen.hash_mismatch) note_mismatch(key);
    if (seen.previous)
        tell(EventKind::duplicate, {.source = source, .message_id = message_id}, *seen.previous);
    return seen.previous == State::done;
}

bool Inbox::mark(const std::string& message_id, const std::string& source, State state,
                 std::string_view error, TxContext* tx) const {
    const InboxKey key{source, message_id};
    validate(key, store().limits());
    return store().mark(tx, key, state, storable_error(error)).has_value();
}

bool Inbox::mark_processing(const std::string& message_id, const std::string& source,
                            TxContext* tx) const {
    return mark(message_id, source, State::ready, {}, tx);
}

bool Inbox::mark_processed(const std::string& message_id, const std::string& source,
                           TxContext* tx) const {
    return mark(message_id, source, State::done, {}, tx);
}

bool Inbox::mark_dead(const std::string& message_id, const std::string& source,
                      std::string_view error, TxContext* tx) const {
    return mark(message_id, source, State::dead, error, tx);
}

ReceiveResult Inbox::enqueue(const ReceivedMessage& message, TxContext* tx, bool revive) const {
    return enqueue_all({&message, 1}, tx, revive).front();
}

std::vector<ReceiveResult> Inbox::enqueue_all(std::span<const ReceivedMessage> messages,
                                              TxContext* tx, bool revive) const {
    for (const ReceivedMessage& message : messages) validate(message, store().limits());
    std::vector<ReceiveResult> results = store().receive(tx, messages, revive);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].hash_mismatch) note_mismatch(messages[i].key());
        tell(EventKind::enqueued, messages[i]);
    }
    if (tx == nullptr) {
        store().announce(queue());
    } else if (tx->reports_end()) {
        tx->after_commit([&store = store(), queue = queue()] { store.announce(queue); });
    }
    return results;
}

// Noting the message as seen writes its row: a second caller waits there until the first has ended,
// and then sees what became of it.
bool Inbox::once(TxContext& tx, const std::string& source, const std::string& message_id,
                 const std::function<void()>& effect) const {
    if (already_processed(message_id, source, {}, &tx)) return false;
    effect();
    mark_processed(message_id, source, &tx);
    return true;
}

std::vector<Lease> Inbox::leases_by_message_id(const OwnerToken& owner,
                                               std::span<const std::string> message_ids) const {
    std::vector<Lease> leases;
    for (const std::string& message_id :
         std::set<std::string>(message_ids.begin(), message_ids.end())) {
        const std::vector<Lease> found = leases_of(owner, Query{.message_id = message_id});
        if (found.size() > 1) {
            throw Error(ErrorKind::misuse,
                        fmt::format("message_id '{}': leased from several sources; settle by lease",
                                    message_id));
        }
        leases.insert(leases.end(), found.begin(), found.end());
    }
    return leases;
}

std::uint64_t Inbox::ack(const OwnerToken& owner, std::span<const std::string> message_ids) const {
    return count_changed(ack(leases_by_message_id(owner, message_ids)));
}

std::uint64_t Inbox::abandon(const OwnerToken& owner, std::span<const std::string> message_ids,
                             std::string_view error, std::optional<Duration> delay) const {
    return count_changed(abandon(leases_by_message_id(owner, message_ids), error, delay));
}

std::uint64_t Inbox::fail(const OwnerToken& owner, std::span<const std::string> message_ids,
                          std::string_view error) const {
    return count_changed(fail(leases_by_message_id(owner, message_ids), error));
}

std::optional<Message> Inbox::get(const std::string& message_id,
                                  const std::optional<std::string>& source) const {
    std::vector<Message> found =
        store().find(Queue::inbox, {.message_id = message_id, .source = source, .limit = 2});
    if (found.size() > 1) {
        throw Error(
            ErrorKind::misuse,
            fmt::format("message_id '{}': known from several sources; name one", message_id));
    }
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

}  // namespace postroom
