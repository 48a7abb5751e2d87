#include "postroom/inbox.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.hpp"
#include "postroom/error.hpp"
#include "postroom/operator.hpp"

namespace postroom {

std::string content_hash(std::string_view payload) {
    const base::Sha256Digest digest = base::sha256(payload);
    return {digest.begin(), digest.end()};
}

namespace {

// Whether this arrival made the message one to be handled, rather than finding it known as such.
bool is_queued_by(const ReceiveResult& arrival, Revive revive) {
    const bool revived = arrival.previous == State::dead && revive == Revive::yes;
    return !arrival.previous || arrival.previous == State::seen || revived;
}

void note_repeat(Store& store, const std::string& source, Repeat what) {
    if (StoreControls* const controls = controls_of(store)) controls->note_repeat(source, what);
}

}  // namespace

Inbox::Inbox(Store& store, const InboxOptions& options)
    : WorkQueue(store, Queue::inbox, options.queue),
      on_hash_mismatch_(options.on_hash_mismatch),
      mismatches_(std::make_unique<std::atomic<std::uint64_t>>(0)) {}

void Inbox::note_mismatch(const InboxKey& key) const {
    ++*mismatches_;
    note_repeat(store(), key.source, Repeat::hash_mismatch);
    if (on_hash_mismatch_) on_hash_mismatch_(key);
    notify(EventKind::hash_mismatch, {.source = key.source, .message_id = key.message_id});
}

void Inbox::notify(EventKind kind, const ReceivedMessage& received, State state) const {
    if (!observer().wants(kind)) return;
    Message message;
    message.queue = queue();
    message.state = state;
    message.topic = received.topic.str();
    message.source = received.source;
    message.message_id = MessageId(received.message_id);
    observer().observe(
        {.kind = kind, .queue = queue(), .store = store().id(), .message = &message, .count = 1});
}

// Noting the message as seen writes its row: within a transaction a second caller waits there until
// the first has ended, and then sees what became of it. once() rests on that.
bool Inbox::see(TxContext* tx, const InboxKey& key, const std::optional<std::string>& hash) const {
    validate(key, store().limits());
    if (hash && hash->size() > store().limits().hash_bytes) {
        throw std::invalid_argument(fmt::format("hash: {} bytes, at most {} allowed", hash->size(),
                                                store().limits().hash_bytes));
    }
    const SeenResult seen = store().see(tx, key, hash);
    if (seen.hash_mismatch) note_mismatch(key);
    if (seen.previous == State::done) note_repeat(store(), key.source, Repeat::duplicate);
    notify(EventKind::checked, {.source = key.source, .message_id = key.message_id},
           seen.previous.value_or(State::seen));
    return seen.previous == State::done;
}

bool Inbox::already_processed(const InboxKey& key, const std::optional<std::string>& hash,
                              std::stop_token stop) const {
    require_unstopped(stop, "already_processed");
    return see(nullptr, key, hash);
}

bool Inbox::already_processed(TxContext& tx, const InboxKey& key,
                              const std::optional<std::string>& hash) const {
    return see(&tx, key, hash);
}

bool Inbox::mark(TxContext* tx, const InboxKey& key, State state, std::string_view error) const {
    validate(key, store().limits());
    return store().mark(tx, key, state, storable_error(error)).has_value();
}

bool Inbox::mark_processing(const InboxKey& key, std::stop_token stop) const {
    require_unstopped(stop, "mark_processing");
    return mark(nullptr, key, State::ready);
}

bool Inbox::mark_processing(TxContext& tx, const InboxKey& key) const {
    return mark(&tx, key, State::ready);
}

bool Inbox::mark_processed(const InboxKey& key, std::stop_token stop) const {
    require_unstopped(stop, "mark_processed");
    return mark(nullptr, key, State::done);
}

bool Inbox::mark_processed(TxContext& tx, const InboxKey& key) const {
    return mark(&tx, key, State::done);
}

bool Inbox::mark_dead(const InboxKey& key, std::string_view error, std::stop_token stop) const {
    require_unstopped(stop, "mark_dead");
    return mark(nullptr, key, State::dead, error);
}

bool Inbox::mark_dead(TxContext& tx, const InboxKey& key, std::string_view error) const {
    return mark(&tx, key, State::dead, error);
}

std::vector<ReceiveResult> Inbox::receive(TxContext* tx, std::span<const ReceivedMessage> messages,
                                          Revive revive) const {
    for (const ReceivedMessage& message : messages) validate(message, store().limits());
    std::vector<ReceiveResult> results = store().receive(tx, messages, revive == Revive::yes);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].hash_mismatch) note_mismatch(messages[i].key());
        if (is_queued_by(results[i], revive)) {
            notify(EventKind::enqueued, messages[i]);
        } else {
            note_repeat(store(), messages[i].source, Repeat::duplicate);
            notify(EventKind::duplicate, messages[i], *results[i].previous);
        }
    }
    if (tx == nullptr) {
        store().announce(queue());
    } else if (tx->reports_end()) {
        tx->after_commit([&store = store(), queue = queue()] { store.announce(queue); });
    }
    return results;
}

ReceiveResult Inbox::enqueue(const ReceivedMessage& message, Revive revive,
                             std::stop_token stop) const {
    return enqueue_all({&message, 1}, revive, std::move(stop)).front();
}

ReceiveResult Inbox::enqueue(TxContext& tx, const ReceivedMessage& message, Revive revive) const {
    return receive(&tx, {&message, 1}, revive).front();
}

std::vector<ReceiveResult> Inbox::enqueue_all(std::span<const ReceivedMessage> messages,
                                              Revive revive, std::stop_token stop) const {
    require_unstopped(stop, "enqueue");
    return receive(nullptr, messages, revive);
}

std::vector<ReceiveResult> Inbox::enqueue_all(TxContext& tx,
                                              std::span<const ReceivedMessage> messages,
                                              Revive revive) const {
    return receive(&tx, messages, revive);
}

std::vector<Lease> Inbox::leases_by_message_id(const OwnerToken& owner,
                                               std::span<const std::string> message_ids,
                                               const std::stop_token& stop) const {
    std::vector<Lease> leases;
    for (const std::string& message_id :
         std::set<std::string>(message_ids.begin(), message_ids.end())) {
        require_unstopped(stop, "settling by message id");
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

std::uint64_t Inbox::ack(const OwnerToken& owner, std::span<const std::string> message_ids,
                         std::stop_token stop) const {
    return count_changed(ack(leases_by_message_id(owner, message_ids, stop), stop));
}

std::uint64_t Inbox::abandon(const OwnerToken& owner, std::span<const std::string> message_ids,
                             std::string_view error, std::optional<Duration> delay,
                             std::stop_token stop) const {
    return count_changed(
        abandon(leases_by_message_id(owner, message_ids, stop), error, delay, stop));
}

std::uint64_t Inbox::fail(const OwnerToken& owner, std::span<const std::string> message_ids,
                          std::string_view error, std::stop_token stop) const {
    return count_changed(fail(leases_by_message_id(owner, message_ids, stop), error, stop));
}

std::optional<Message> Inbox::get(const InboxKey& key, std::stop_token stop) const {
    require_unstopped(stop, "get");
    std::vector<Message> found =
        store().find(Queue::inbox, {.message_id = key.message_id, .source = key.source});
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::optional<Message> Inbox::get(const MessageId& message_id, std::stop_token stop) const {
    require_unstopped(stop, "get");
    std::vector<Message> found =
        store().find(Queue::inbox, {.message_id = message_id.str(), .limit = 2});
    if (found.size() > 1) {
        throw Error(
            ErrorKind::misuse,
            fmt::format("message_id '{}': known from several sources; name one", message_id.str()));
    }
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

}  // namespace postroom
