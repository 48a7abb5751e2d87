#include <stdexcept>
#include <utility>

#include "base/utf8.hpp"
#include "memory/memory_core.hpp"
#include "memory/memory_transaction.hpp"
#include "postroom/error.hpp"
#include "postroom/testing.hpp"
#include "queue/born_lease.hpp"
#include "queue/hot_path.hpp"

namespace postroom {

namespace {

std::string name_of(const OpenOptions& options) {
    return options.store_id.empty() ? "memory" : options.store_id;
}

void check_lease(Duration lease, const Limits& limits) {
    if (lease <= Duration::zero() || lease > limits.lease_max)
        throw std::invalid_argument("lease: must be above 0 and at most lease_max");
}

void check_owner(const OwnerToken& owner) {
    if (owner.is_nil()) throw std::invalid_argument("owner: must not be the nil token");
}

void check_enqueue(const NewMessage& message, const BornLease* born, const Limits& limits) {
    validate(message, limits);
    if (message.message_id.empty()) throw std::invalid_argument("message_id: must not be empty");
    if (born != nullptr) require_bearable(message);
}

std::string stored_error(const std::string& error, const Limits& limits) {
    const std::string text = base::sanitize_utf8(error);
    return std::string{base::truncate_utf8(text, limits.max_error_chars)};
}

KeyName key_name(const InboxKey& key) { return {Queue::inbox, key.source, key.message_id}; }

}  // namespace

MemoryStore::MemoryStore(const OpenOptions& options)
    : Store(name_of(options), options.limits),
      core_(std::make_unique<Core>(nullptr, options, std::nullopt)) {}

MemoryStore::MemoryStore(const Clock& clock, const OpenOptions& options,
                         std::optional<std::uint64_t> seed)
    : Store(name_of(options), options.limits),
      core_(std::make_unique<Core>(&clock, options, seed)) {}

MemoryStore::~MemoryStore() = default;

Instant MemoryStore::now() { return core_->clock_used.now(); }

std::unique_ptr<Transaction> MemoryStore::begin() {
    return std::make_unique<MemoryTransaction>(core_->database);
}

std::vector<EnqueueResult> MemoryStore::enqueue(TxContext* tx, std::span<const NewMessage> messages,
                                                const BornLease* born) {
    TransactionLog* log = MemoryTransaction::log_of(tx, core_->database);
    if (born != nullptr) {
        check_owner(born->owner);
        check_lease(born->lease, limits());
    }
    std::vector<KeyName> keys;
    for (const NewMessage& message : messages) {
        check_enqueue(message, born, limits());
        if (!message.idempotency_key.empty())
            keys.push_back({Queue::outbox, message.tenant_id, message.idempotency_key});
    }
    const auto lease = born != nullptr ? std::optional{*born} : std::nullopt;
    return core_->database.run_in(
        log, keys,
        [ids = core_->new_ids(Queue::outbox, messages.size()), lease,
         copies = std::vector<NewMessage>(messages.begin(), messages.end())](MemoryTables& tables,
                                                                             Instant now) {
            std::vector<EnqueueResult> results;
            for (std::size_t i = 0; i < copies.size(); ++i)
                results.push_back(
                    tables.outbox.enqueue(copies[i], ids[i], lease ? &*lease : nullptr, now));
            return results;
        });
}

std::optional<EnqueueResult> MemoryStore::find_key(TxContext* tx, const std::string& tenant_id,
                                                   const std::string& idempotency_key) {
    TransactionLog* log = MemoryTransaction::log_of(tx, core_->database);
    return core_->database.run_in(
        log, {{Queue::outbox, tenant_id, idempotency_key}},
        [key = IdempotencyKey{tenant_id, idempotency_key}](MemoryTables& tables, Instant) {
            return tables.outbox.find_key(key);
        });
}

SqlStatement MemoryStore::enqueue_statement(const NewMessage&) {
    throw Error(ErrorKind::misuse, "MemoryStore has no SQL");
}

std::vector<ReceiveResult> MemoryStore::receive(TxContext* tx,
                                                std::span<const ReceivedMessage> messages,
                                                bool revive) {
    TransactionLog* log = MemoryTransaction::log_of(tx, core_->database);
    std::vector<KeyName> keys;
    for (const ReceivedMessage& message : messages) {
        validate(message, limits());
        keys.push_back(key_name(message.key()));
    }
    return core_->database.run_in(
        log, keys,
        [ids = core_->new_ids(Queue::inbox, messages.size()), revive,
         copies = std::vector<ReceivedMessage>(messages.begin(), messages.end())](
            MemoryTables& tables, Instant now) {
            std::vector<ReceiveResult> results;
            for (std::size_t i = 0; i < copies.size(); ++i)
                results.push_back(tables.inbox.receive(copies[i], ids[i], revive, now));
            return results;
        });
}

SeenResult MemoryStore::see(TxContext* tx, const InboxKey& key,
                            const std::optional<std::string>& hash) {
    TransactionLog* log = MemoryTransaction::log_of(tx, core_->database);
    validate(key, limits());
    return core_->database.run_in(log, {key_name(key)},
                                  [key, hash](MemoryTables& tables, Instant now) {
                                      return tables.inbox.see(key, hash, now);
                                  });
}

std::optional<State> MemoryStore::mark(TxContext* tx, const InboxKey& key, State state,
                                       const std::string& error) {
    TransactionLog* log = MemoryTransaction::log_of(tx, core_->database);
    if (state != State::ready && state != State::done && state != State::dead)
        throw std::invalid_argument("state: must be ready, done or dead");
    return core_->database.run_in(
        log, {key_name(key)},
        [key, state, text = stored_error(error, limits())](MemoryTables& tables, Instant now) {
            return tables.inbox.mark(key, state, text, now);
        });
}

std::vector<Message> MemoryStore::claim(Queue queue, const ClaimRequest& request,
                                        std::stop_token stop) {
    check_owner(request.owner);
    check_lease(request.lease, limits());
    if (stop.stop_requested()) return {};
    const LeaseId lease_id = core_->new_lease_id();
    return core_->database.run([&](MemoryTables& tables, Instant now) {
        return tables.queue(queue).claim(request, lease_id, now);
    });
}

std::vector<Settled> MemoryStore::settle(TxContext* tx, Queue queue,
                                         std::span<const Settlement> settlements) {
    TransactionLog* log = MemoryTransaction::log_of(tx, core_->database);
    std::vector<Settlement> copies(settlements.begin(), settlements.end());
    for (Settlement& settlement : copies)
        settlement.error = stored_error(settlement.error, limits());
    return core_->database.run_in(
        log, {}, [queue, copies = std::move(copies)](MemoryTables& tables, Instant now) {
            std::vector<Settled> results;
            for (const Settlement& settlement : copies)
                results.push_back(tables.queue(queue).settle(settlement, now));
            return results;
        });
}

std::vector<bool> MemoryStore::extend(Queue queue, std::span<const Lease> leases, Duration lease) {
    check_lease(lease, limits());
    return core_->database.run([&](MemoryTables& tables, Instant now) {
        std::vector<bool> stood;
        for (const Lease& held : leases)
            stood.push_back(tables.queue(queue).extend(held, now + lease));
        return stood;
    });
}

std::uint64_t MemoryStore::reap(Queue queue, std::uint32_t limit, std::stop_token stop) {
    if (stop.stop_requested()) return 0;
    return core_->database.run(
        [&](MemoryTables& tables, Instant now) { return tables.queue(queue).reap(limit, now); });
}

std::vector<Message> MemoryStore::find(Queue queue, const Query& query) {
    return core_->database.run(
        [&](MemoryTables& tables, Instant now) { return tables.queue(queue).find(query, now); });
}

std::vector<Message> MemoryStore::enqueued(std::string_view topic) {
    Query query;
    query.topic = std::string{topic};
    query.limit = UINT32_MAX;
    return find(Queue::outbox, query);
}

std::uint64_t MemoryStore::redrive(Queue queue, std::span<const WorkItemId> ids) {
    return core_->database.run([&](MemoryTables& tables, Instant now) {
        std::uint64_t count = 0;
        for (const WorkItemId& id : ids) count += tables.queue(queue).redrive(id, now) ? 1 : 0;
        return count;
    });
}

PurgeResult MemoryStore::purge(Queue queue, const PurgeRequest& request) {
    return core_->database.run(
        [&](MemoryTables& tables, Instant now) { return tables.queue(queue).purge(request, now); });
}

std::unique_ptr<Doorbell> MemoryStore::doorbell(Queue queue) {
    return std::make_unique<MemoryDoorbell>(core_->bells.at(queue == Queue::outbox ? 0 : 1));
}

Counts MemoryStore::counts(Queue queue) {
    return core_->database.run(
        [&](MemoryTables& tables, Instant now) { return tables.queue(queue).counts(now); });
}

}  // namespace postroom
