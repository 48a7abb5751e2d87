#include "memory/memory_database.hpp"

#include <algorithm>
#include <stop_token>

#include "postroom/error.hpp"

namespace postroom {

MemoryDatabase::MemoryDatabase(const Clock& clock, const OpenOptions& options)
    : clock_(clock), statement_timeout_(options.statement_timeout), tables_(options) {}

void MemoryDatabase::wait_for(const std::vector<KeyName>& keys, const TransactionLog* log,
                              base::MutexLock& lock) {
    const auto free_for_us = [&](const KeyName& key) POSTROOM_REQUIRES(mutex_) {
        const auto held = key_holders_.find(key);
        return held == key_holders_.end() || held->second == log;
    };
    const auto all_free = [&]() POSTROOM_REQUIRES(mutex_) {
        return std::all_of(keys.begin(), keys.end(), free_for_us);
    };
    if (!keys_released_.wait_for(lock, std::stop_token{}, statement_timeout_, all_free))
        throw Error(ErrorKind::conflict,
                    "memory store: another open transaction holds the same key for longer than the "
                    "statement timeout");
}

bool MemoryDatabase::repeat(const TransactionLog& log) {
    bool all_the_same = true;
    for (const auto& operation : log.operations) all_the_same &= operation(tables_);
    return all_the_same;
}

bool MemoryDatabase::commit(TransactionLog& log) {
    const base::MutexLock lock(mutex_);
    const UndoScope undo(tables_.undo_log);
    const bool holds = repeat(log);
    if (holds) tables_.undo_log.keep();
    end(log);
    return holds;
}

void MemoryDatabase::rollback(TransactionLog& log) {
    const base::MutexLock lock(mutex_);
    end(log);
}

void MemoryDatabase::end(TransactionLog& log) {
    std::erase_if(key_holders_, [&](const auto& held) { return held.second == &log; });
    log.operations.clear();
    keys_released_.notify_all();
}

}  // namespace postroom
