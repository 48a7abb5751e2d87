// Tenancy: one process, many databases: which there are, which is polled next, which one a key
// leads to, and how many connections all of them may have.
//
//   Tenants tenants;                                  // a DatabaseDiscovery of yours
//   DiscoveredStores stores(tenants);                 // asks at once, then every 5 minutes
//   Dispatcher dispatcher(stores);
//   OutboxRouter outboxes(stores);
//   outboxes.get("tenant-7").enqueue(...);
//
// Thread safety: may be shared between threads, unless a class says otherwise.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postroom/ids.hpp"
#include "postroom/inbox.hpp"
#include "postroom/observer.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "postroom/store.hpp"

namespace postroom {

using StorePtr = std::shared_ptr<Store>;

// Ends a subscription with itself; waits for a call that is under way.
class Subscription {
public:
    Subscription() = default;
    explicit Subscription(std::shared_ptr<void> held) : held_(std::move(held)) {}

private:
    std::shared_ptr<void> held_;
};

// StoreProvider: the stores that a Dispatcher works on and that routers lead to, as they are now.
//
// Stores are known by their ids (Store::id()), which are unique within a provider and stay the same
// as long as the store is there. They come in a stable order: new ones at the end. A store is
// shared with whoever uses it, so one that was removed lives until the last user lets go of it.
class StoreProvider {
public:
    StoreProvider() = default;
    StoreProvider(const StoreProvider&) = delete;
    StoreProvider& operator=(const StoreProvider&) = delete;
    virtual ~StoreProvider() = default;

    virtual std::vector<StorePtr> stores() const = 0;

    // The store with this id; nullptr when there is none.
    virtual StorePtr find(std::string_view id) const;

    // `changed` is called after stores came or went, from any thread. Must not throw.
    virtual Subscription subscribe(std::function<void()> changed) = 0;
};

// FixedStores: a list that never changes.
class FixedStores final : public StoreProvider {
public:
    // Throws std::invalid_argument when two of them have the same id, or one is missing.
    explicit FixedStores(std::vector<StorePtr> stores);
    // One that somebody else owns, and that must outlive this.
    explicit FixedStores(Store& store);

    std::vector<StorePtr> stores() const override { return stores_; }
    StorePtr find(std::string_view id) const override;
    Subscription subscribe(std::function<void()>) override { return {}; }

private:
    const std::vector<StorePtr> stores_;
};

struct DiscoveredDatabase {
    std::string id{};  // the store's, and the routing key; options.store_id is not looked at
    std::string url{};
    OpenOptions options{};

    bool operator==(const DiscoveredDatabase&) const = default;
};

// DatabaseDiscovery: asks the application which databases there are.
//
//   class Tenants final : public DatabaseDiscovery {
//       std::vector<DiscoveredDatabase> discover(std::stop_token) override {
//           return {{.id = "tenant-1", .url = "postgresql://app@db1/tenant1"}, ...};
//       }
//   };
class DatabaseDiscovery {
public:
    DatabaseDiscovery() = default;
    DatabaseDiscovery(const DatabaseDiscovery&) = delete;
    DatabaseDiscovery& operator=(const DatabaseDiscovery&) = delete;
    virtual ~DatabaseDiscovery() = default;

    // All databases that there are now. Called by one thread at a time; what it throws is a failed
    // discovery. Long ones look at `stop`.
    virtual std::vector<DiscoveredDatabase> discover(std::stop_token stop) = 0;
};

// How a store is made of a URL. DiscoveredStores calls it from several threads at a time.
using OpenStore =
    std::function<std::unique_ptr<Store>(const std::string& url, const OpenOptions& options)>;

struct DiscoveryOptions {
    Duration refresh_interval = std::chrono::minutes{5};
    // After a discovery that failed, or a database that could not be opened; doubled each time, up
    // to the refresh interval.
    Duration retry_interval = std::chrono::seconds{5};
    // Every store gets it that has none of its own.
    std::shared_ptr<ConnectionBudget> budget{};
    Observer* observer = nullptr;  // of failures; nullptr: default_observer(). Must outlive the
                                   // provider
};

// DiscoveredStores: keeps a store open for each database of a discovery.
//
// New databases get a store, those that are gone lose theirs, and a database that is described as
// before keeps the store it has. One whose URL or options changed is removed and added anew. A
// discovery that throws, or that names two databases alike, changes nothing and is told to the
// observer; so is a database that cannot be opened, which is tried again soon.
class DiscoveredStores final : public StoreProvider {
public:
    // Asks once before it returns, and from then on in a thread of its own. A first discovery that
    // fails leaves no stores, and is repeated. `discovery` must outlive this. Throws
    // std::invalid_argument for an interval of zero or less.
    explicit DiscoveredStores(DatabaseDiscovery& discovery, const DiscoveryOptions& options = {},
                              OpenStore open = &open_store);
    ~DiscoveredStores() override;

    std::vector<StorePtr> stores() const override;
    StorePtr find(std::string_view id) const override;
    Subscription subscribe(std::function<void()> changed) override;

    // Asks now and returns when that is done. False: the discovery failed, or a database could not
    // be opened.
    bool refresh();

private:
    class Core;
    const std::unique_ptr<Core> core_;
};

// OutboxRouter, InboxRouter: the outbox or inbox of one database among many, by its key.
//
// The key is the store's id; a UUID stands for its canonical lower-case text. Instances are made
// once and shared: the same key gives the same object as long as its database is there.
//
// Lifetime: a reference from get() is good as long as its database stays with the provider. Where
// databases come and go, hold() gives one that keeps the outbox and its store alive.
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

    // As get(), and the outbox and its store live as long as the result does.
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

struct PollCandidate {
    std::string_view store{};
    // False: not now, because it is being polled, or has no room for another batch.
    bool due = true;
};

struct LastPoll {
    std::string_view store{};
    // What it brought; nullopt: it is not over yet.
    std::optional<std::size_t> count{};
};

// SelectionStrategy: which of many stores a dispatcher polls next.
//
// A store wants to be polled when a writer or its doorbell said so, when its last poll brought a
// full batch, or when its time has come. Where several want it, this decides. Pure: the answer
// depends on the arguments only, so it can be tried by hand.
//
// Thread safety: called by one thread at a time for each dispatcher.
class SelectionStrategy {
public:
    SelectionStrategy() = default;
    SelectionStrategy(const SelectionStrategy&) = delete;
    SelectionStrategy& operator=(const SelectionStrategy&) = delete;
    virtual ~SelectionStrategy() = default;

    // The index of the candidate to poll; nullopt: none for the moment. `candidates` has all stores
    // that are due, and the last one whether due or not, in the order of the provider. A candidate
    // that is not due counts as none. `last` is nullptr before the first poll, and when its store
    // has gone; one that fails or does not answer has brought nothing.
    virtual std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                            const LastPoll* last) const = 0;
};

// One batch from each store in turn.
class RoundRobin final : public SelectionStrategy {
public:
    std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                    const LastPoll* last) const override;
};

// One store until it brings nothing, then the next one. Others wait meanwhile, however long that
// takes; only a store that fails or hangs gives up its turn.
class DrainFirst final : public SelectionStrategy {
public:
    std::optional<std::size_t> next(std::span<const PollCandidate> candidates,
                                    const LastPoll* last) const override;
};

// ConnectionBudget: how many connections all stores that share it may have open together.
//
//   auto budget = std::make_shared<ConnectionBudget>(64);
//   auto north = open_store("sqlite:north.db", {.budget = budget});
//   auto south = open_store("sqlite:south.db", {.budget = budget});
//
// A store that needs a connection while the budget is used up closes the one that has been idle
// longest, whichever store it belongs to. While all of them are in use it waits, as for its own
// pool, up to `pool_wait`. An eighth of the budget is kept for the renewal of leases, so that
// handlers that hold on to connections do not lose their messages; at most half of it may be held
// by doorbells that listen on a connection of their own.
class ConnectionBudget {
public:
    // Throws std::invalid_argument for less than 2.
    explicit ConnectionBudget(std::size_t connections_max);
    ~ConnectionBudget();
    ConnectionBudget(const ConnectionBudget&) = delete;
    ConnectionBudget& operator=(const ConnectionBudget&) = delete;

    std::size_t connections_max() const;
    // Now, in use or idle.
    std::size_t open() const;
    // The most there ever were at the same time.
    std::size_t open_peak() const;

    // What the stores work with.
    class Ledger;
    const std::shared_ptr<Ledger>& ledger() const { return ledger_; }

private:
    const std::shared_ptr<Ledger> ledger_;
};

}  // namespace postroom
