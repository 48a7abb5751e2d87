#include "postroom/outbox.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "base/ulid.hpp"
#include "postroom/error.hpp"

namespace postroom {

// Where message ids come from.
struct Outbox::Ids {
    Ids(const Clock* given, Random& random)
        : system(),
          generator(given == nullptr ? static_cast<const Clock&>(system) : *given, random) {}

    SystemClock system;
    base::UlidGenerator generator;
};

Outbox::Outbox(Store& store, const OutboxOptions& options)
    : WorkQueue(store, Queue::outbox, options.queue),
      require_transaction_(options.require_transaction),
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
    return store().enqueue(tx, prepared);
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
