// OutboxRouter, InboxRouter: the outbox or inbox of one database among many, by its key.
//
//   OutboxRouter outboxes(stores);
//   outboxes.get("tenant-7").enqueue(...);
//   outboxes.get(tenant_uuid).enqueue(...);
//
// The key is the store's id; a UUID stands for its canonical lower-case text. Instances are made
// once and shared: the same key gives the same object as long as its database is there.
//
// Lifetime: a reference from get() is good as long as its database stays with the provider. Where
// databases come and go, hold() gives one that keeps the outbox and its store alive.
// Thread safety: may be shared between threads.
#pragma once

#include <memory>
#include <string_view>

#include "postroom/ids.hpp"
#include "postroom/inbox.hpp"
#include "postroom/outbox.hpp"
#include "postroom/store_provider.hpp"

namespace postroom {

class OutboxRouter {
public:
    // `stores` must outlive this object.
    explicit OutboxRouter(StoreProvider& stores, const OutboxOptions& options = {});
    ~OutboxRouter();
    OutboxRouter(const OutboxRouter&) = delete;
    OutboxRouter& operator=(const OutboxRouter&) = delete;

    // Throws Error{misuse} naming the key when there is no such store.
    const Outbox& get(std::string_view key) const { return *hold(key); }
    const Outbox& get(const Uuid& key) const { return *hold(key); }

    // The same, and the outbox and its store live as long as the result does.
    std::shared_ptr<const Outbox> hold(std::string_view key) const;
    std::shared_ptr<const Outbox> hold(const Uuid& key) const { return hold(key.to_string()); }

private:
    class Cache;
    const std::unique_ptr<Cache> cache_;
};

class InboxRouter {
public:
    explicit InboxRouter(StoreProvider& stores, const InboxOptions& options = {});
    ~InboxRouter();
    InboxRouter(const InboxRouter&) = delete;
    InboxRouter& operator=(const InboxRouter&) = delete;

    const Inbox& get(std::string_view key) const { return *hold(key); }
    const Inbox& get(const Uuid& key) const { return *hold(key); }
    std::shared_ptr<const Inbox> hold(std::string_view key) const;
    std::shared_ptr<const Inbox> hold(const Uuid& key) const { return hold(key.to_string()); }

private:
    class Cache;
    const std::unique_ptr<Cache> cache_;
};

}  // namespace postroom
