// MemoryDatabase: the tables of a MemoryStore under one mutex, and what makes transactions of them.
//
// A transaction is the list of its operations. Each call does them all again on the committed
// tables, then the new one, keeps its result and takes everything back. The commit does them a last
// time: if each has the result that it had at the call, the changes stay, else they are taken back.
// Whoever reads in between sees committed data only.
//
// Thread safety: all operations may be called concurrently; a TransactionLog belongs to one thread
// at a time.
#pragma once

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "memory/memory_inbox.hpp"
#include "memory/memory_outbox.hpp"
#include "postroom/clock.hpp"
#include "postroom/open_store.hpp"

namespace postroom {

struct MemoryTables {
    explicit MemoryTables(const OpenOptions& options)
        : outbox(undo_log, options), inbox(undo_log, options) {}

    MemoryQueue& queue(Queue queue) {
        if (queue == Queue::outbox) return outbox;
        return inbox;
    }

    UndoLog undo_log;
    MemoryOutbox outbox;
    MemoryInbox inbox;
};

// What a database would lock: an idempotency key (tenant, key) or an inbox key (source,
// message_id).
struct KeyName {
    Queue queue = Queue::outbox;
    std::string scope;
    std::string key;

    friend auto operator<=>(const KeyName&, const KeyName&) = default;
};

struct TransactionLog {
    // Does one operation again; false when it comes out differently.
    std::vector<std::function<bool(MemoryTables&)>> operations;
};

class MemoryDatabase {
public:
    // `clock` must outlive the database.
    MemoryDatabase(const Clock& clock, const OpenOptions& options);
    MemoryDatabase(const MemoryDatabase&) = delete;
    MemoryDatabase& operator=(const MemoryDatabase&) = delete;

    // Runs `operation(tables, now)` by itself: all of it happens or, when it throws, nothing. Waits
    // while a transaction holds one of `keys`; throws Error{conflict} when that takes too long.
    template <class Operation>
    auto run(Operation operation, const std::vector<KeyName>& keys = {});

    // Runs `operation` as part of the transaction `log`, which keeps the keys until its end;
    // without one as run() does.
    template <class Operation>
    auto run_in(TransactionLog* log, const std::vector<KeyName>& keys, Operation operation);

    // False: a result that was told before holds no longer, and nothing was changed. Ends the
    // transaction.
    bool commit(TransactionLog& log);
    void rollback(TransactionLog& log);

private:
    // Takes back what was not kept.
    class UndoScope {
    public:
        explicit UndoScope(UndoLog& log) : log_(log) {}
        ~UndoScope() { log_.undo(); }
        UndoScope(const UndoScope&) = delete;
        UndoScope& operator=(const UndoScope&) = delete;

    private:
        UndoLog& log_;
    };

    void wait_for(const std::vector<KeyName>& keys, const TransactionLog* log,
                  base::MutexLock& lock) POSTROOM_REQUIRES(mutex_);
    // Does the operations of `log` again; false when one of them comes out differently.
    bool repeat(const TransactionLog& log) POSTROOM_REQUIRES(mutex_);
    void end(TransactionLog& log) POSTROOM_REQUIRES(mutex_);

    const Clock& clock_;
    const Duration statement_timeout_;

    base::Mutex mutex_;
    base::CondVar keys_released_;
    MemoryTables tables_ POSTROOM_GUARDED_BY(mutex_);
    std::map<KeyName, const TransactionLog*> key_holders_ POSTROOM_GUARDED_BY(mutex_);
};

// Whether two results tell the caller the same.
inline bool same(Settled a, Settled b) { return a == b; }
inline bool same(const std::optional<State>& a, const std::optional<State>& b) { return a == b; }
inline bool same(const EnqueueResult& a, const EnqueueResult& b) {
    return a.id == b.id && a.already_existed == b.already_existed;
}
inline bool same(const ReceiveResult& a, const ReceiveResult& b) {
    return a.id == b.id && a.previous == b.previous && a.hash_mismatch == b.hash_mismatch;
}
inline bool same(const SeenResult& a, const SeenResult& b) {
    return a.previous == b.previous && a.hash_mismatch == b.hash_mismatch;
}
inline bool same(const std::optional<EnqueueResult>& a, const std::optional<EnqueueResult>& b) {
    return a && b ? same(*a, *b) : a.has_value() == b.has_value();
}
template <class Result>
bool same(const std::vector<Result>& a, const std::vector<Result>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Result& x, const Result& y) { return same(x, y); });
}

template <class Operation>
auto MemoryDatabase::run(Operation operation, const std::vector<KeyName>& keys) {
    base::MutexLock lock(mutex_);
    wait_for(keys, nullptr, lock);
    const UndoScope undo(tables_.undo_log);
    auto result = operation(tables_, clock_.now());
    tables_.undo_log.keep();
    return result;
}

template <class Operation>
auto MemoryDatabase::run_in(TransactionLog* log, const std::vector<KeyName>& keys,
                            Operation operation) {
    if (log == nullptr) return run(std::move(operation), keys);

    base::MutexLock lock(mutex_);
    wait_for(keys, log, lock);
    for (const KeyName& key : keys) key_holders_[key] = log;

    const UndoScope undo(tables_.undo_log);
    repeat(*log);
    const Instant now = clock_.now();
    auto result = operation(tables_, now);
    log->operations.push_back(
        [operation = std::move(operation), now, result](MemoryTables& tables) {
            return same(operation(tables, now), result);
        });
    return result;
}

}  // namespace postroom
