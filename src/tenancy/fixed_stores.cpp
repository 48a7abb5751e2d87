#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "postroom/tenancy.hpp"

namespace postroom {

namespace {

std::vector<StorePtr> checked(std::vector<StorePtr> stores) {
    std::set<std::string> ids;
    for (const StorePtr& store : stores) {
        if (store == nullptr) throw std::invalid_argument("stores: one of them is null");
        if (!ids.insert(store->id()).second)
            throw std::invalid_argument("stores: two of them have the id '" + store->id() + "'");
    }
    return stores;
}

StorePtr store_in(const std::vector<StorePtr>& stores, std::string_view id) {
    const auto found = std::find_if(stores.begin(), stores.end(),
                                    [&](const StorePtr& store) { return store->id() == id; });
    return found == stores.end() ? nullptr : *found;
}

}  // namespace

StorePtr StoreProvider::find(std::string_view id) const { return store_in(stores(), id); }

StorePtr FixedStores::find(std::string_view id) const { return store_in(stores_, id); }

FixedStores::FixedStores(std::vector<StorePtr> stores) : stores_(checked(std::move(stores))) {}

FixedStores::FixedStores(Store& store) : stores_{StorePtr(&store, [](Store*) {})} {}

}  // namespace postroom
