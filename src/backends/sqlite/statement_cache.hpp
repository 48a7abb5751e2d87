// StatementCache: the prepared statements of one connection, by their text; the least recently used
// goes first.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backends/sqlite/prepared.hpp"

struct sqlite3;

namespace postroom::sqlite {

class StatementCache {
public:
    StatementCache(sqlite3* connection, std::size_t capacity)
        : connection_(connection), capacity_(capacity) {}

    // Shared, so that a statement in use outlives its place here.
    std::shared_ptr<Prepared> get(const std::string& sql);

    // Finalizes what is not in use.
    void clear();

    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string sql;
        std::shared_ptr<Prepared> prepared;
    };

    // The texts are long, and their lengths and ends tell them apart.
    struct Hash {
        std::size_t operator()(std::string_view sql) const;
    };

    sqlite3* const connection_;
    const std::size_t capacity_;
    std::list<Entry> entries_;  // the most recently used first
    std::unordered_map<std::string_view, std::list<Entry>::iterator, Hash> by_sql_;
};

}  // namespace postroom::sqlite
