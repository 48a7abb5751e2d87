#include "admin/http/store_watch.hpp"

#include <algorithm>
#include <iterator>

#include "admin/http/admin_log.hpp"
#include "admin/pauses.hpp"
#include "admin/restore.hpp"
#include "base/sleep.hpp"

namespace postroom::admin {

namespace {

constexpr Duration spacing_min = std::chrono::milliseconds{50};
// Asking for it may open a connection, and it changes when somebody deploys.
constexpr Duration schema_interval = std::chrono::minutes{1};

}  // namespace

void StoreWatch::start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void StoreWatch::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

// Where the stores come from is somebody else's code, and this thread is not to end with it.
void StoreWatch::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            look_at_all(stop);
        } catch (const std::exception& error) {
            log_failure(options_, "ADMIN_WATCH_FAILED", error);
            base::sleep_for(stop, options_.sample_interval);
        }
    }
}

void StoreWatch::look_at_all(const std::stop_token& stop) {
    const std::vector<StorePtr> stores = stores_.stores();
    note_unopened(stores);
    forget_removed(stores);
    const Duration spacing =
        std::max(spacing_min, options_.sample_interval /
                                  static_cast<int>(std::max<std::size_t>(1, stores.size())));
    if (stores.empty()) base::sleep_for(stop, spacing);
    for (const StorePtr& store : stores) {
        look_at(*store);
        const Instant now = SystemClock().now();
        if (now - noted_ >= options_.sample_interval || now < noted_) {
            traffic_.note(now, metrics_);
            noted_ = now;
        }
        if (!base::sleep_for(stop, spacing)) return;
    }
}

void StoreWatch::look_at(Store& store) {
    StoreView view{.look = begin_look()};
    metrics_.sample(store);
    try {
        view.now = store.now();
        view.paused = paused_topics(store);
        view.hold = restore_hold(store);
        if (StoreControls* const desk = controls_of(store)) view.workers = desk->workers();
        ask_for_schema(store.id());
    } catch (const std::exception&) {
        return;  // the sample tells that it is down; what was known before stands
    }
    const base::MutexLock lock(mutex_);
    StoreView& known = views_[store.id()];
    if (known.look < view.look) known = std::move(view);
}

std::uint64_t StoreWatch::begin_look() {
    const base::MutexLock lock(mutex_);
    return ++looks_;
}

// Kept apart from the views: whoever looks while another asks has nothing better to tell.
void StoreWatch::ask_for_schema(const std::string& store) {
    if (!options_.schema) return;
    const Instant now = SystemClock().now();
    {
        const base::MutexLock lock(mutex_);
        KnownSchema& known = schemas_[store];
        if (known.report && now - known.asked < schema_interval) return;
        known.asked = now;
    }
    const SchemaReport report = options_.schema(store);
    metrics_.schema_version(store, report.version);
    const base::MutexLock lock(mutex_);
    schemas_[store].report = report;
}

void StoreWatch::note_unopened(const std::vector<StorePtr>& present) {
    std::map<std::string, std::string> unopened;
    if (options_.unopened)
        for (UnopenedStore& one : options_.unopened())
            unopened.emplace(std::move(one.store), std::move(one.error));
    for (const StorePtr& store : present) unopened.erase(store->id());
    for (const auto& [store, error] : unopened) metrics_.down(store, error);
    const base::MutexLock lock(mutex_);
    unopened_ = std::move(unopened);
}

// Each is forgotten in two rounds: its last deliveries may end after it has left.
void StoreWatch::forget_removed(const std::vector<StorePtr>& present) {
    std::set<std::string> ids;
    for (const StorePtr& store : present) ids.insert(store->id());
    std::set<std::string> gone;
    {
        const base::MutexLock lock(mutex_);
        for (const auto& [id, error] : unopened_) ids.insert(id);
        std::ranges::set_difference(present_, ids, std::inserter(gone, gone.end()));
        for (const std::string& id : gone) {
            views_.erase(id);
            schemas_.erase(id);
        }
    }
    for (const std::set<std::string>& some : {gone_, gone})
        for (const std::string& id : some)
            if (!ids.contains(id)) metrics_.forget(id);
    gone_ = std::move(gone);
    present_ = std::move(ids);
}

std::optional<std::string> StoreWatch::unopened(const std::string& store) const {
    const base::MutexLock lock(mutex_);
    const auto at = unopened_.find(store);
    return at == unopened_.end() ? std::nullopt : std::optional(at->second);
}

std::map<std::string, StoreView> StoreWatch::views() const {
    const base::MutexLock lock(mutex_);
    std::map<std::string, StoreView> out = views_;
    for (auto& [store, view] : out)
        if (const auto known = schemas_.find(store); known != schemas_.end())
            view.schema = known->second.report;
    return out;
}

}  // namespace postroom::admin
