#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/mutex.hpp"
#include "postroom/tenancy.hpp"
#include "runtime/loop.hpp"
#include "runtime/store_openers.hpp"
#include "tenancy/store_set.hpp"

namespace postroom {

namespace {

const DiscoveryOptions& checked(const DiscoveryOptions& options) {
    if (options.refresh_interval <= Duration::zero() || options.retry_interval <= Duration::zero())
        throw std::invalid_argument("refresh_interval, retry_interval: must be above 0");
    return options;
}

}  // namespace

// Who is notified when the stores change.
class Listeners : public std::enable_shared_from_this<Listeners> {
public:
    Subscription add(std::function<void()> changed) {
        const base::MutexLock lock(mutex_);
        const auto place = calls_.insert(calls_.end(), std::move(changed));
        return Subscription(
            std::shared_ptr<void>(nullptr, [all = shared_from_this(), place](void*) {
                const base::MutexLock end(all->mutex_);
                all->calls_.erase(place);
            }));
    }

    void notify() {
        const base::MutexLock lock(mutex_);
        for (const std::function<void()>& changed : calls_) changed();
    }

private:
    base::Mutex mutex_;
    std::list<std::function<void()>> calls_ POSTROOM_GUARDED_BY(mutex_);
};

class DiscoveredStores::Core {
public:
    Core(DatabaseDiscovery& discovery, const DiscoveryOptions& options, OpenStore open)
        : discovery_(discovery),
          options_(checked(options)),
          open_(std::move(open)),
          pause_(options.retry_interval) {}

    void start() {
        next_ = after(refresh(), monotonic_clock().now());
        loop_ = std::make_unique<Loop>(monotonic_clock(), [this](Instant now, std::stop_token) {
            if (now >= next_) next_ = after(refresh(), monotonic_clock().now());
            return next_;
        });
    }

    ~Core() {
        stop_.request_stop();
        loop_.reset();
    }

    bool refresh() {
        const base::MutexLock lock(refresh_mutex_);
        StoreSet::Change change;
        try {
            change = set_.update(discover());
        } catch (const std::exception& error) {
            notify_failure("", "discover", error.what());
            return false;
        }
        // What went is let go of before anything that may take long.
        if (change.removed) publish();
        return open_all(change.missing);
    }

    std::vector<StorePtr> stores() const {
        const base::MutexLock lock(mutex_);
        return stores_;
    }

    StorePtr find(std::string_view id) const {
        const base::MutexLock lock(mutex_);
        const auto found = by_id_.find(id);
        return found == by_id_.end() ? nullptr : found->second;
    }

    Subscription subscribe(std::function<void()> changed) {
        return listeners_->add(std::move(changed));
    }

private:
    std::vector<DiscoveredDatabase> discover() {
        std::vector<DiscoveredDatabase> found = discovery_.discover(stop_.get_token());
        for (DiscoveredDatabase& database : found)
            if (database.options.budget == nullptr) database.options.budget = options_.budget;
        return found;
    }

    // Several at a time, and what is open is served while others keep their openers waiting.
    bool open_all(const std::vector<StoreSet::Missing>& missing) POSTROOM_REQUIRES(refresh_mutex_) {
        StoreOpeners openers(missing, open_, stop_.get_token());
        bool all = true;
        while (const std::optional<std::vector<StoreOpeners::Result>> results = openers.next()) {
            bool any = false;
            for (const StoreOpeners::Result& result : *results) {
                if (result.store != nullptr) {
                    set_.add(*result.of, result.store);
                    any = true;
                } else {
                    any = set_.failed(*result.of) || any;
                    notify_failure(result.of->database.id, "open", result.error);
                    all = false;
                }
            }
            if (any) publish();
        }
        return all;
    }

    void publish() POSTROOM_REQUIRES(refresh_mutex_) {
        exchange_stores();
        listeners_->notify();
    }

    void exchange_stores() POSTROOM_REQUIRES(refresh_mutex_) {
        // What goes may end with these, which takes a while: outside of the mutex.
        std::vector<StorePtr> stores = set_.stores();
        std::map<std::string, StorePtr, std::less<>> by_id;
        for (const StorePtr& store : stores) by_id.emplace(store->id(), store);
        const base::MutexLock lock(mutex_);
        stores_.swap(stores);
        by_id_.swap(by_id);
    }

    void notify_failure(std::string_view store, std::string_view operation,
                        std::string_view error) const {
        Observer& observer = options_.observer == nullptr ? default_observer() : *options_.observer;
        observer.observe({.kind = EventKind::store_failed,
                          .store = store,
                          .error = error,
                          .operation = operation});
    }

    // When to ask again.
    Instant after(bool success, Instant now) {
        if (success) {
            pause_ = options_.retry_interval;
            return now + options_.refresh_interval;
        }
        const Duration pause = std::min(pause_, options_.refresh_interval);
        pause_ = std::min(pause_ * 2, options_.refresh_interval);
        return now + pause;
    }

    // Constant after construction.
    DatabaseDiscovery& discovery_;
    const DiscoveryOptions options_;
    const OpenStore open_;

    // Synchronize themselves.
    std::stop_source stop_;
    const std::shared_ptr<Listeners> listeners_ = std::make_shared<Listeners>();

    // The loop's thread only, after start().
    Instant next_{};
    Duration pause_;

    base::Mutex refresh_mutex_;  // one at a time
    StoreSet set_ POSTROOM_GUARDED_BY(refresh_mutex_);

    mutable base::Mutex mutex_;
    std::vector<StorePtr> stores_ POSTROOM_GUARDED_BY(mutex_);
    std::map<std::string, StorePtr, std::less<>> by_id_ POSTROOM_GUARDED_BY(mutex_);

    std::unique_ptr<Loop> loop_;  // last: it uses all of the above
};

DiscoveredStores::DiscoveredStores(DatabaseDiscovery& discovery, const DiscoveryOptions& options,
                                   OpenStore open)
    : core_(std::make_unique<Core>(discovery, options, std::move(open))) {
    core_->start();
}

DiscoveredStores::~DiscoveredStores() = default;

std::vector<StorePtr> DiscoveredStores::stores() const { return core_->stores(); }
StorePtr DiscoveredStores::find(std::string_view id) const { return core_->find(id); }
bool DiscoveredStores::refresh() { return core_->refresh(); }
Subscription DiscoveredStores::subscribe(std::function<void()> changed) {
    return core_->subscribe(std::move(changed));
}

}  // namespace postroom
