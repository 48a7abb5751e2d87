// StatementCache: the prepared statements of one connection, by their text; the least recently used
// goes first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace postroom::sql {

template <class Prepared>
class StatementCache {
public:
    using Prepare = std::function<std::shared_ptr<Prepared>(const std::string& sql)>;

    StatementCache(std::size_t capacity, Prepare prepare)
        : capacity_(capacity), prepare_(std::move(prepare)) {}

    // Shared, so that a statement in use outlives its place here.
    std::shared_ptr<Prepared> get(const std::string& sql) {
        if (const auto found = by_sql_.find(sql); found != by_sql_.end()) {
            entries_.splice(entries_.begin(), entries_, found->second);
            return entries_.front().prepared;
        }
        std::shared_ptr<Prepared> prepared = prepare_(sql);
        entries_.push_front({sql, prepared});
        by_sql_.emplace(entries_.front().sql, entries_.begin());
        if (entries_.size() > capacity_) {
            by_sql_.erase(entries_.back().sql);
            entries_.pop_back();
        }
        return prepared;
    }

    // Closes what is not in use.
    void clear() {
        by_sql_.clear();
        entries_.clear();
    }

    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string sql;
        std::shared_ptr<Prepared> prepared;
    };

    // The texts are long, and their lengths and ends tell them apart.
    struct Hash {
        std::size_t operator()(std::string_view sql) const {
            constexpr std::size_t end_bytes = 48;
            const std::hash<std::string_view> hash;
            const std::size_t end = std::min(sql.size(), end_bytes);
            return hash(sql.substr(0, end)) ^ (hash(sql.substr(sql.size() - end)) + sql.size());
        }
    };

    const std::size_t capacity_;
    const Prepare prepare_;
    std::list<Entry> entries_;  // the most recently used first
    std::unordered_map<std::string_view, typename std::list<Entry>::iterator, Hash> by_sql_;
};

}  // namespace postroom::sql
