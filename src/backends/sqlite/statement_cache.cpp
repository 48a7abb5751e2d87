#include "backends/sqlite/statement_cache.hpp"

namespace postroom::sqlite {

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
