#include "admin/http/rate_limit.hpp"

#include <algorithm>

namespace postroom::admin {

double RateLimit::left(const Bucket& bucket, Time now) const {
    const std::chrono::duration<double> passed = now - bucket.at;
    return std::min(burst_, bucket.left + passed.count() * per_second_);
}

bool RateLimit::has(const std::string& key, Time now) const {
    const auto at = buckets_.find(key);
    return at == buckets_.end() || left(at->second, now) >= 1.0;
}

bool RateLimit::take(const std::string& key, Time now) {
    if (buckets_.size() >= keys_max && !buckets_.contains(key)) drop_full(now);
    Bucket& bucket = buckets_.try_emplace(key, Bucket{burst_, now}).first->second;
    const double available = left(bucket, now);
    bucket = {available, now};
    if (available < 1.0) return false;
    bucket.left -= 1.0;
    return true;
}

// Forgetting a full one changes nothing. When none is, somebody has thousands of addresses, and all
// begin anew.
void RateLimit::drop_full(Time now) {
    std::erase_if(buckets_, [&](const auto& one) { return left(one.second, now) >= burst_; });
    if (buckets_.size() >= keys_max) buckets_.clear();
}

}  // namespace postroom::admin
