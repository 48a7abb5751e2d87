#include "postroom/outbox.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "base/ulid.hpp"
#include "outbox/hot_ticket.hpp"
#include "postroom/error.hpp"

namespace postroom {

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
      observer_(options.observer),
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

std::vector<EnqueueResult> Outbox::store_all(TxContext* tx,
                                             std::span<const NewMessage> messages) const {
    std::vector<NewMessage> prepared;
    prepared.reserve(messages.size());
    for (const NewMessage& message : messages) prepared.push_back(prepare(message));
    if (tx == nullptr && require_transaction_) {
        throw Error(ErrorKind::misuse, "enqueue: a transaction is required (require_transaction)");
    }
    const bool end_is_told = tx == nullptr || tx->reports_end();
    const std::shared_ptr<HotPath> path = end_is_told ? store().hot_path(queue()) : nullptr;
    const std::optional<BornLease> born = path != nullptr ? path->reserve(prepared) : std::nullopt;
    if (born) return store_hot(tx, std::move(prepared), path, *born);
    return store_cold(tx, prepared);
}

std::vector<EnqueueResult> Outbox::store_cold(TxContext* tx,
                                              std::span<const NewMessage> messages) const {
    const std::vector<EnqueueResult> results = store().enqueue(tx, messages);
    tell(messages, results);
    if (tx == nullptr) {
        store().announce(queue());
    } else if (tx->reports_end()) {
        tx->after_commit([&store = store(), queue = queue()] { store.announce(queue); });
    }
    return results;
}

// The ticket goes with the callback of the commit. If that never runs, however the transaction
// ended, the room is given back.
std::vector<EnqueueResult> Outbox::store_hot(TxContext* tx, std::vector<NewMessage> messages,
                                             std::shared_ptr<HotPath> path,
                                             const BornLease& born) const {
    const auto ticket = std::make_shared<HotTicket>(std::move(path), born);
    const std::vector<EnqueueResult> results = store().enqueue(tx, messages, &born);
    tell(messages, results);
    const Instant now = ids_->clock.now();
    bool certain = true;
    std::vector<Message> born_leased;
    for (std::size_t i = 0; i < results.size(); ++i) {
        certain = certain && results[i].top_level;
        born_leased.push_back(as_stored(std::move(messages[i]), results[i], born, now));
    }
    if (tx == nullptr) {
        ticket->hand_over(std::move(born_leased), true);
    } else {
        tx->after_commit([ticket, certain, given = std::move(born_leased)]() mutable {
            ticket->hand_over(std::move(given), certain);
        });
    }
    return results;
}

void Outbox::tell(std::span<const NewMessage> messages,
                  std::span<const EnqueueResult> results) const {
    if (observer_ == nullptr) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
        Message message;
        message.id = results[i].id;
        message.message_id = results[i].message_id;
        message.topic = messages[i].topic.str();
        message.correlation_id = messages[i].correlation_id;
        message.tenant_id = messages[i].tenant_id;
        message.idempotency_key = messages[i].idempotency_key;
        observer_->observe(
            {.kind = results[i].already_existed ? EventKind::duplicate : EventKind::enqueued,
             .queue = queue(),
             .store = store().id(),
             .message = &message,
             .count = 1});
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
    if (stop.stop_requested()) {
        throw Error(ErrorKind::unavailable, "enqueue: stopped before anything was written");
    }
    return store_all(nullptr, messages);
}

SqlStatement Outbox::statement(const NewMessage& message) const {
    return store().enqueue_statement(prepare(message));
}

bool Outbox::mark_dispatched(const WorkItemId& id) const {
    return ack(owner(), std::array{id}) > 0;
}

bool Outbox::reschedule(const WorkItemId& id, Duration delay, std::string_view last_error) const {
    return abandon(owner(), std::array{id}, last_error, delay) > 0;
}

bool Outbox::fail(const WorkItemId& id, std::string_view last_error) const {
    return fail(owner(), std::array{id}, last_error) > 0;
}

}  // namespace postroom
