#include "postroom/outbox.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "base/ulid.hpp"
#include "outbox/hot_ticket.hpp"
#include "postroom/ambient.hpp"
#include "postroom/error.hpp"
#include "postroom/tracing.hpp"
#include "queue/message_fields.hpp"
#include "queue/trace_headers.hpp"

namespace postroom {

namespace {

// What else is told of messages that were enqueued.
struct Enqueuing {
    std::vector<bool> stamps{};
    Duration took{};
};

// A commit may come when the outbox is gone.
void tell(Observer& observer, const Store& store, std::span<const NewMessage> messages,
          std::span<const EnqueueResult> results, const Enqueuing& enqueuing = {}) {
    for (std::size_t i = 0; i < results.size(); ++i) {
        const EventKind kind =
            results[i].already_existed ? EventKind::duplicate : EventKind::enqueued;
        if (results[i].id == WorkItemId{} || !observer.wants(kind)) continue;
        Message message = labels_of(messages[i]);
        message.id = results[i].id;
        message.message_id = results[i].message_id;
        observer.observe({.kind = kind,
                          .queue = Queue::outbox,
                          .store = store.id(),
                          .message = &message,
                          .count = 1,
                          .duration = enqueuing.took,
                          .stamped = !enqueuing.stamps.empty() && enqueuing.stamps[i]});
    }
}

}  // namespace

// Where message ids come from.
struct Outbox::Ids {
    Ids(const Clock* given, Random& random)
        : system(),
          clock(given == nullptr ? static_cast<const Clock&>(system) : *given),
          generator(clock, random) {}

    SystemClock system;
    const Clock& clock;
    base::UlidGenerator generator;
};

Outbox::Outbox(Store& store, const OutboxOptions& options)
    : WorkQueue(store, Queue::outbox, options.queue),
      require_transaction_(options.require_transaction),
      tracing_(options.tracing),
      ids_(std::make_unique<Ids>(options.clock, random())) {}

Outbox::~Outbox() = default;

// Checked, with its id and its key. An id that the caller gave is a key: the same id never makes
// two messages.
NewMessage Outbox::prepare(const NewMessage& message) const {
    validate(message, store().limits());
    NewMessage out = message;
    if (out.message_id.empty()) {
        out.message_id = MessageId(ids_->generator.next());
    } else if (out.idempotency_key.empty()) {
        out.idempotency_key = out.message_id.str();
    }
    return out;
}

Outbox::Stamps Outbox::stamp(std::span<NewMessage> messages) const {
    Stamps stamps;
    if (tracing_ == nullptr) return stamps;
    for (NewMessage& message : messages) {
        // A full message goes without: being traced is no reason to be refused.
        const bool fits = header_bytes(message.headers) + traceparent_header_bytes <=
                          store().limits().headers_bytes;
        stamps.push_back(fits && tracing_->stamp(message.headers));
    }
    return stamps;
}

std::vector<EnqueueResult> Outbox::store_all(TxContext* tx,
                                             std::span<const NewMessage> messages) const {
    std::vector<NewMessage> prepared;
    prepared.reserve(messages.size());
    for (const NewMessage& message : messages) prepared.push_back(prepare(message));
    if (tx == nullptr && require_transaction_) {
        throw Error(ErrorKind::misuse, "enqueue: a transaction is required (require_transaction)");
    }
    const Stamps stamps = stamp(prepared);
    const bool end_is_told = tx == nullptr || tx->reports_end();
    const std::shared_ptr<HotPath> path = end_is_told ? store().hot_path(queue()) : nullptr;
    const std::optional<BornLease> born = path != nullptr ? path->reserve(prepared) : std::nullopt;
    if (born) return store_hot(tx, std::move(prepared), stamps, path, *born);
    return store_cold(tx, prepared, stamps);
}

std::vector<EnqueueResult> Outbox::store_cold(TxContext* tx, std::span<const NewMessage> messages,
                                              const Stamps& stamps) const {
    const Instant before = stopwatch().now();
    const std::vector<EnqueueResult> results = store().enqueue(tx, messages);
    tell(observer(), store(), messages, results, {stamps, stopwatch().now() - before});
    if (tx == nullptr) {
        store().announce(queue());
    } else if (tx->reports_end()) {
        tx->after_commit([&store = store(), queue = queue()] { store.announce(queue); });
    }
    return results;
}

std::vector<EnqueueResult> Outbox::store_hot(TxContext* tx, std::vector<NewMessage> messages,
                                             const Stamps& stamps, std::shared_ptr<HotPath> path,
                                             const BornLease& born) const {
    auto ticket = std::make_shared<HotTicket>(std::move(path), born);
    const Instant before = stopwatch().now();
    auto results =
        std::make_shared<const std::vector<EnqueueResult>>(store().enqueue(tx, messages, &born));
    tell(observer(), store(), messages, *results, {stamps, stopwatch().now() - before});
    hand_over_after(tx, std::move(ticket), std::move(messages), results);
    return *results;
}

// The ticket goes with the callback of the commit. If that never runs, however the transaction
// ended, the room is given back.
void Outbox::hand_over_after(TxContext* tx, std::shared_ptr<HotTicket> ticket,
                             std::vector<NewMessage> messages, Posted results) const {
    auto give = [ticket = std::move(ticket), messages = std::move(messages),
                 results = std::move(results), now = ids_->clock.now()]() mutable {
        bool certain = true;
        std::vector<Message> born_leased;
        born_leased.reserve(messages.size());
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const EnqueueResult& result = results->at(i);
            if (result.id == WorkItemId{}) continue;
            certain = certain && result.top_level;
            born_leased.push_back(as_stored(std::move(messages[i]), result, ticket->born(), now));
        }
        if (!born_leased.empty()) ticket->hand_over(std::move(born_leased), certain);
    };
    if (tx == nullptr) {
        give();
    } else {
        tx->after_commit(std::move(give));
    }
}

EnqueueResult Outbox::enqueue(TxContext& tx, const NewMessage& message) const {
    return store_all(&tx, {&message, 1}).front();
}

EnqueueResult Outbox::enqueue(const NewMessage& message, std::stop_token stop) const {
    return enqueue_all({&message, 1}, std::move(stop)).front();
}

std::vector<EnqueueResult> Outbox::enqueue_all(TxContext& tx,
                                               std::span<const NewMessage> messages) const {
    return store_all(&tx, messages);
}

std::vector<EnqueueResult> Outbox::enqueue_all(std::span<const NewMessage> messages,
                                               std::stop_token stop) const {
    require_unstopped(stop, "enqueue");
    return store_all(nullptr, messages);
}

MessageId Outbox::post(TxContext& tx, const NewMessage& message) const {
    std::vector<NewMessage> prepared{prepare(message)};
    if (!tx.reports_end() || !prepared.front().idempotency_key.empty())
        return store_all(&tx, {&message, 1}).front().message_id;
    const MessageId id = prepared.front().message_id;
    Stamps stamps = stamp(prepared);
    const std::shared_ptr<HotPath> path = store().hot_path(queue());
    const std::optional<BornLease> born = path != nullptr ? path->reserve(prepared) : std::nullopt;
    const auto ticket = born ? std::make_shared<HotTicket>(path, *born) : nullptr;
    const Posted posted = store().post(tx, prepared, born ? &*born : nullptr);
    if (observer().wants(EventKind::enqueued))
        tx.after_commit([&observer = observer(), &store = store(), prepared, posted,
                         enqueuing = Enqueuing{.stamps = std::move(stamps)}] {
            tell(observer, store, prepared, *posted, enqueuing);
        });
    if (ticket != nullptr) {
        hand_over_after(&tx, ticket, std::move(prepared), posted);
    } else {
        tx.after_commit([&store = store(), queue = queue()] { store.announce(queue); });
    }
    return id;
}

std::optional<EnqueueResult> Outbox::find_added(TxContext* tx, const std::string& tenant_id,
                                                const std::string& idempotency_key) const {
    if (idempotency_key.empty()) throw std::invalid_argument("idempotency_key: must not be empty");
    std::optional<EnqueueResult> there = store().find_key(tx, tenant_id, idempotency_key);
    if (there) {
        const NewMessage known{.tenant_id = tenant_id, .idempotency_key = idempotency_key};
        tell(observer(), store(), {&known, 1}, {&*there, 1});
    }
    return there;
}

MessageId Outbox::write(const NewMessage& message) const {
    return write_all({&message, 1}).front();
}

MessageId Outbox::write(TopicName topic, std::string json) const {
    return write({.topic = std::move(topic), .payload = std::move(json)});
}

std::vector<MessageId> Outbox::write_all(std::span<const NewMessage> messages) const {
    TxContext* const tx = AmbientTransaction::current();
    if (tx == nullptr)
        throw Error(ErrorKind::misuse,
                    "write: this thread has named no transaction (AmbientTransaction)");
    std::vector<MessageId> ids;
    for (EnqueueResult& stored : store_all(tx, messages))
        ids.push_back(std::move(stored.message_id));
    return ids;
}

SqlStatement Outbox::statement(const NewMessage& message) const {
    return store().enqueue_statement(prepare(message));
}

bool Outbox::mark_dispatched(const WorkItemId& id, std::stop_token stop) const {
    return ack(owner(), std::array{id}, std::move(stop)) > 0;
}

bool Outbox::reschedule(const WorkItemId& id, Duration delay, std::string_view last_error,
                        std::stop_token stop) const {
    return abandon(owner(), std::array{id}, last_error, delay, std::move(stop)) > 0;
}

bool Outbox::fail(const WorkItemId& id, std::string_view last_error, std::stop_token stop) const {
    return fail(owner(), std::array{id}, last_error, std::move(stop)) > 0;
}

}  // namespace postroom
