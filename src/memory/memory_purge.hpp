// One batch of a purge.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/memory_table.hpp"

namespace postroom {

// Removes up to `batch` rows for which `old` holds. Returns how many went.
template <class Key, class Row, class Predicate>
std::uint64_t purge_rows(MemoryTable<Key, Row>& table, std::uint32_t batch, Predicate old) {
    std::vector<Key> doomed;
    for (const auto& [key, row] : table) {
        if (doomed.size() == batch) break;
        if (old(row)) doomed.push_back(key);
    }
    for (const Key& key : doomed) table.take(key);
    return doomed.size();
}

}  // namespace postroom
