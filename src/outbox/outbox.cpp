#include "postroom/outbox.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "base/ulid.hpp"
#include "outbox/hot_ticket.hpp"
#include "postroom/error.hpp"

namespace postroom {

namespace {

// A commit may come when the outbox is gone.
void tell(Observer* observer, const Store& store, std::span<const NewMessage> messages,
          std::span<const EnqueueResult> results) {
    if (observer == nullptr) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].id == WorkItemId{}) continue;
        Message message;
        message.id = results[i].id;
        message.message_id = results[i].message_id;
        message.topic = messages[i].topic.str();
        message.correlation_id = messages[i].correlation_id;
        message.tenant_id = messages[i].tenant_id;
        message.idempotency_key = messages[i].idempotency_key;
        observer->observe(
            {.kind = results[i].already_existed ? EventKind::duplicate : EventKind::enqueued,
             .queue = Queue::outbox,
             .store = store.id(),
             .message = &message,
             .count = 1});
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
    tell(observer_, store(), messages, results);
    if (tx == nullptr) {
        store().announce(queue());
    } else if (tx->reports_end()) {
        tx->after_commit([&store = store(), queue = queue()] { store.announce(queue); });
    }
    return results;
}

std::vector<EnqueueResult> Outbox::store_hot(TxContext* tx, std::vector<NewMessage> messages,
                                             std::shared_ptr<HotPath> path,
                                             const BornLease& born) const {
    auto ticket = std::make_shared<HotTicket>(std::move(path), born);
    auto results =
        std::make_shared<const std::vector<EnqueueResult>>(store().enqueue(tx, messages, &born));
    tell(observer_, store(), messages, *results);
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
    if (stop.stop_requested()) {
        throw Error(ErrorKind::unavailable, "enqueue: stopped before anything was written");
    }
    return store_all(nullptr, messages);
}

MessageId Outbox::post(TxContext& tx, const NewMessage& message) const {
    std::vector<NewMessage> prepared{prepare(message)};
    if (!tx.reports_end() || !prepared.front().idempotency_key.empty())
        return store_all(&tx, {&message, 1}).front().message_id;
    const MessageId id = prepared.front().message_id;
    const std::shared_ptr<HotPath> path = store().hot_path(queue());
    const std::optional<BornLease> born = path != nullptr ? path->reserve(prepared) : std::nullopt;
    const auto ticket = born ? std::make_shared<HotTicket>(path, *born) : nullptr;
    const Posted posted = store().post(tx, prepared, born ? &*born : nullptr);
    if (observer_ != nullptr)
        tx.after_commit([observer = observer_, &store = store(), prepared, posted] {
            tell(observer, store, prepared, *posted);
        });
    if (ticket != nullptr) {
        hand_over_after(&tx, ticket, std::move(prepared), posted);
    } else {
        tx.after_commit([&store = store(), queue = queue()] { store.announce(queue); });
    }
    return id;
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
