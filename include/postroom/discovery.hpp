// DatabaseDiscovery: asks the application which databases there are. DiscoveredStores: keeps a
// store open for each of them.
//
//   class Tenants final : public DatabaseDiscovery {
//       std::vector<DiscoveredDatabase> discover(std::stop_token) override {
//           return {{.id = "tenant-1", .url = "postgresql://app@db1/tenant1"}, ...};
//       }
//   };
//   Tenants tenants;
//   DiscoveredStores stores(tenants);                 // asks at once, then every 5 minutes
//   Dispatcher dispatcher(stores);
//
// New databases get a store, those that are gone lose theirs, and a database that is described as
// before keeps the store it has. One whose URL or options changed is removed and added anew. A
// discovery that throws, or that names two databases alike, changes nothing and is told to the
// observer; so is a database that cannot be opened, which is tried again soon.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "postroom/observer.hpp"
#include "postroom/open_store.hpp"
#include "postroom/store_provider.hpp"

namespace postroom {

struct DiscoveredDatabase {
    std::string id{};  // the store's, and the routing key; options.store_id is not looked at
    std::string url{};
    OpenOptions options{};

    bool operator==(const DiscoveredDatabase&) const = default;
};

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
    Observer* observer = nullptr;  // hears of failures. Must outlive the provider
};

// Thread safety: as StoreProvider. refresh() may be called from any thread.
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

}  // namespace postroom
