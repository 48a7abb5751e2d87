// MemoryTable: rows by key, in order of key, that can take back what was done to them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.hpp"

namespace postroom {

// The changes since the last keep() or undo(), to all the tables that share this log.
class UndoLog {
public:
    void add(std::function<void()> step) { steps_.push_back(std::move(step)); }
    void keep() { steps_.clear(); }
    void undo() {
        for (; !steps_.empty(); steps_.pop_back()) steps_.back()();
    }

private:
    std::vector<std::function<void()>> steps_;
};

template <class Key, class Row>
class MemoryTable {
public:
    // `log` must outlive the table, and the table the changes in the log.
    explicit MemoryTable(UndoLog& log) : log_(log) {}
    MemoryTable(const MemoryTable&) = delete;
    MemoryTable& operator=(const MemoryTable&) = delete;

    const Row* find(const Key& key) const {
        const auto found = rows_.find(key);
        return found == rows_.end() ? nullptr : &found->second;
    }

    std::size_t size() const { return rows_.size(); }
    auto begin() const { return rows_.begin(); }
    auto end() const { return rows_.end(); }

    // The row of `key`, which must exist, to be changed. Valid until the row is erased or undone.
    Row& edit(const Key& key) {
        const auto found = rows_.find(key);
        POSTROOM_ASSERT(found != rows_.end());
        log_.add([this, key, before = found->second] { rows_.at(key) = before; });
        return found->second;
    }

    // `key` must be new.
    void insert(const Key& key, Row row) {
        const bool inserted = rows_.emplace(key, std::move(row)).second;
        POSTROOM_ASSERT(inserted);
        log_.add([this, key] { rows_.erase(key); });
    }

    // Removes the row of `key`, which must exist, and hands it out.
    Row take(const Key& key) {
        auto node = rows_.extract(key);
        POSTROOM_ASSERT(!node.empty());
        log_.add([this, key, before = node.mapped()] { rows_.emplace(key, before); });
        return std::move(node.mapped());
    }

private:
    UndoLog& log_;
    std::map<Key, Row> rows_;
};

}  // namespace postroom
