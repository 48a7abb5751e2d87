// Outbox: record messages in the same transaction as the change they announce.
//
// Enqueuing is an INSERT on the caller's connection, inside the caller's open transaction. Nothing
// is sent here. If that transaction commits, the message is there to be claimed and delivered at
// least once; if it rolls back, the message never existed. When a Dispatcher runs on the same Store
// object, the message is handed to it in memory right after the commit. The work-queue verbs come
// from WorkQueue.
//
// Thread safety: an Outbox may be shared between threads. The transaction given to enqueue() stays
// with the calling thread for the duration of the call.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "postroom/detail/callable.hpp"
#include "postroom/work_queue.hpp"

namespace postroom {

class TracingObserver;

// A type that is a message: it names its topic and has a to_payload() found by argument-dependent
// lookup. For the way back it has from_payload(std::string_view, T&).
template <class T>
concept TypedMessage = requires(const T& message) {
    { T::topic } -> std::convertible_to<TopicName>;
    { to_payload(message) } -> std::convertible_to<std::string>;
};

struct OutboxOptions {
    WorkQueueOptions queue{};
    // Refuse enqueue() without a transaction, so that none is forgotten.
    bool require_transaction = false;
    const Clock* clock =
        nullptr;  // of generated message ids; nullptr: the system's. Must outlive the outbox
    // Gives messages that have no trace context one of their own (tracing.hpp). To be among the
    // observers of `queue` too. Must outlive the outbox.
    const TracingObserver* tracing = nullptr;
};

class HotTicket;

class Outbox : public WorkQueue {
public:
    // `store` must outlive this object.
    explicit Outbox(Store& store, const OutboxOptions& options = {});
    ~Outbox() override;

    // Stores `message` and returns its ids, or those of the message that already carries the same
    // idempotency key for that tenant. Throws std::invalid_argument for a message that breaks a
    // limit, Error{misuse} when `tx` is not in a transaction. Never commits and never rolls back
    // `tx`.
    EnqueueResult enqueue(TxContext& tx, const NewMessage& message) const;

    // Stores `message` in a transaction of its own. After Error{outcome_unknown} a message with an
    // idempotency key may safely be enqueued again.
    EnqueueResult enqueue(const NewMessage& message, std::stop_token stop = {}) const;

    // Stores all of `messages` or none; results in the given order.
    std::vector<EnqueueResult> enqueue_all(TxContext& tx,
                                           std::span<const NewMessage> messages) const;
    std::vector<EnqueueResult> enqueue_all(std::span<const NewMessage> messages,
                                           std::stop_token stop = {}) const;

    // As enqueue() for those who do not need the answer: on PostgreSQL the INSERT travels with the
    // next statement of `tx`, or with its COMMIT, which saves a round trip. What the database
    // refuses is thrown there, and the transaction can only be rolled back, or to a savepoint.
    // Returns the message id. Waits like enqueue() for a message with an idempotency key or an id
    // of yours, for a large one, and in a transaction that does not report its end.
    MessageId post(TxContext& tx, const NewMessage& message) const;

    // A typed message; `like` carries whatever else is wanted.
    template <TypedMessage T>
    EnqueueResult enqueue(TxContext& tx, const T& message, NewMessage like = {}) const {
        return enqueue(tx, typed(message, std::move(like)));
    }
    template <TypedMessage T>
    MessageId post(TxContext& tx, const T& message, NewMessage like = {}) const {
        return post(tx, typed(message, std::move(like)));
    }
    template <TypedMessage T>
    EnqueueResult enqueue(const T& message, NewMessage like = {}, std::stop_token stop = {}) const {
        return enqueue(typed(message, std::move(like)), std::move(stop));
    }

    // Enqueues what `make` returns, a NewMessage, under this key of this tenant. Where a message
    // has the key already, `make` is not called and the ids are those of that message. Of two
    // callers at the same moment both may call theirs; one message is stored. std::invalid_argument
    // for an empty key.
    template <detail::Makes<NewMessage> F>
    EnqueueResult try_add(TxContext& tx, const std::string& tenant_id,
                          const std::string& idempotency_key, F&& make) const {
        if (const auto there = find_added(&tx, tenant_id, idempotency_key)) return *there;
        return enqueue(tx, keyed(std::invoke(std::forward<F>(make)), tenant_id, idempotency_key));
    }
    template <detail::Makes<NewMessage> F>
    EnqueueResult try_add(const std::string& tenant_id, const std::string& idempotency_key,
                          F&& make, std::stop_token stop = {}) const {
        require_unstopped(stop, "try_add");
        if (const auto there = find_added(nullptr, tenant_id, idempotency_key)) return *there;
        return enqueue(keyed(std::invoke(std::forward<F>(make)), tenant_id, idempotency_key), stop);
    }

    // As enqueue() in the transaction that this thread has named (ambient.hpp); Error{misuse} when
    // there is none. The second form is for a topic and JSON text.
    MessageId write(const NewMessage& message) const;
    MessageId write(TopicName topic, std::string json) const;
    std::vector<MessageId> write_all(std::span<const NewMessage> messages) const;

    // What enqueue() would run, for a driver that we do not know: SQL with the engine's
    // placeholders and the values in order. Run it in your transaction. A message id is filled in.
    // Error{misuse} on a database that needs several statements for it: SQLite for a message with a
    // message id or an idempotency key of yours, a due time, an ordering key or a low priority.
    SqlStatement statement(const NewMessage& message) const;

    // Tells dispatchers that something was committed which this object cannot know of: after a
    // statement() of yours, or with a borrowed transaction. Only saves time: it would be found.
    void nudge() const { store().announce(Queue::outbox); }

    // The verbs of a polling store, for what claim_due() returned. False: the lease was lost.
    bool mark_dispatched(const WorkItemId& id, std::stop_token stop = {}) const;
    bool reschedule(const WorkItemId& id, Duration delay, std::string_view last_error,
                    std::stop_token stop = {}) const;
    using WorkQueue::fail;
    bool fail(const WorkItemId& id, std::string_view last_error, std::stop_token stop = {}) const;

private:
    struct Ids;

    template <class T>
    static NewMessage typed(const T& message, NewMessage like) {
        like.topic = TopicName(T::topic);
        like.payload = to_payload(message);
        return like;
    }
    static NewMessage keyed(NewMessage message, const std::string& tenant_id,
                            const std::string& idempotency_key) {
        message.tenant_id = tenant_id;
        message.idempotency_key = idempotency_key;
        return message;
    }
    std::optional<EnqueueResult> find_added(TxContext* tx, const std::string& tenant_id,
                                            const std::string& idempotency_key) const;
    // Which of the messages were given their trace context by us; empty: none.
    using Stamps = std::vector<bool>;
    Stamps stamp(std::span<NewMessage> messages) const;
    NewMessage prepare(const NewMessage& message) const;
    std::vector<EnqueueResult> store_all(TxContext* tx, std::span<const NewMessage> messages) const;
    std::vector<EnqueueResult> store_hot(TxContext* tx, std::vector<NewMessage> messages,
                                         const Stamps& stamps, std::shared_ptr<HotPath> path,
                                         const BornLease& born) const;
    // Gives what was stored to the dispatcher: now, or after the commit of `tx`.
    void hand_over_after(TxContext* tx, std::shared_ptr<HotTicket> ticket,
                         std::vector<NewMessage> messages,
                         std::shared_ptr<const std::vector<EnqueueResult>> results) const;
    std::vector<EnqueueResult> store_cold(TxContext* tx, std::span<const NewMessage> messages,
                                          const Stamps& stamps) const;

    const bool require_transaction_;
    const TracingObserver* const tracing_;
    const std::unique_ptr<Ids> ids_;
};

}  // namespace postroom
