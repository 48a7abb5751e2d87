#include "backends/sqlite/statement_cache.hpp"

#include <algorithm>
#include <functional>

namespace postroom::sqlite {

std::size_t StatementCache::Hash::operator()(std::string_view sql) const {
    constexpr std::size_t end_bytes = 48;
    const std::hash<std::string_view> hash;
    const std::size_t end = std::min(sql.size(), end_bytes);
    return hash(sql.substr(0, end)) ^ (hash(sql.substr(sql.size() - end)) + sql.size());
}

std::shared_ptr<Prepared> StatementCache::get(const std::string& sql) {
    if (const auto found = by_sql_.find(sql); found != by_sql_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return entries_.front().prepared;
    }
    auto prepared = std::make_shared<Prepared>(connection_, sql, true);
    entries_.push_front({sql, prepared});
    by_sql_.emplace(entries_.front().sql, entries_.begin());
    if (entries_.size() > capacity_) {
        by_sql_.erase(entries_.back().sql);
        entries_.pop_back();
    }
    return prepared;
}

void StatementCache::clear() {
    by_sql_.clear();
    entries_.clear();
}

}  // namespace postroom::sqlite
