// StoreProvider: the stores that a Dispatcher works on and that routers lead to, as they are now.
//
// Stores are known by their ids (Store::id()), which are unique within a provider and stay the same
// as long as the store is there. They come in a stable order: new ones at the end. A store is
// shared with whoever uses it, so one that was removed lives until the last user lets go of it.
//
// Thread safety: may be shared between threads.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

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

}  // namespace postroom
