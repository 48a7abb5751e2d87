#include "postroom/tenancy.hpp"

#include "tenancy/face_cache.hpp"

namespace postroom {

class OutboxRouter::Cache : public FaceCache<Outbox, OutboxOptions> {
    using FaceCache::FaceCache;
};

OutboxRouter::OutboxRouter(StoreProvider& stores, const OutboxOptions& options)
    : cache_(std::make_unique<Cache>(stores, options)) {}

OutboxRouter::~OutboxRouter() = default;

std::shared_ptr<const Outbox> OutboxRouter::hold(std::string_view key) const {
    return cache_->hold(key);
}

class InboxRouter::Cache : public FaceCache<Inbox, InboxOptions> {
    using FaceCache::FaceCache;
};

InboxRouter::InboxRouter(StoreProvider& stores, const InboxOptions& options)
    : cache_(std::make_unique<Cache>(stores, options)) {}

InboxRouter::~InboxRouter() = default;

std::shared_ptr<const Inbox> InboxRouter::hold(std::string_view key) const {
    return cache_->hold(key);
}

}  // namespace postroom
