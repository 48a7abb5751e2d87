#include "daemon/relay.hpp"

#include <atomic>
#include <exception>
#include <map>
#include <optional>

#include "base/mutex.hpp"
#include "daemon/log_lines.hpp"
#include "daemon/pause_watch.hpp"
#include "postroom/discovery.hpp"
#include "postroom/error.hpp"
#include "postroom/metrics.hpp"

namespace postroom::daemon {

namespace {

// The stores of the plan: always the same.
class PlannedStores final : public DatabaseDiscovery {
public:
    explicit PlannedStores(const std::vector<StorePlan>& stores) {
        for (const StorePlan& store : stores)
            databases_.push_back({.id = store.name, .url = store.url, .options = store.options});
    }
    std::vector<DiscoveredDatabase> discover(std::stop_token) override { return databases_; }

private:
    std::vector<DiscoveredDatabase> databases_;
};

// Remembers why stores could not be opened.
class WatchedOpen {
public:
    explicit WatchedOpen(OpenStore open) : open_(std::move(open)) {}

    std::unique_ptr<Store> operator()(const std::string& url, const OpenOptions& options) {
        try {
            return open_(url, options);
        } catch (const Error&) {
            const base::MutexLock lock(mutex_);
            if (!world_) world_ = std::current_exception();
            throw;
        } catch (...) {
            const base::MutexLock lock(mutex_);
            if (!plan_) plan_ = std::current_exception();
            throw;
        }
    }

    // What no other try will mend comes out; the world's faults only where nothing works at all.
    void rethrow(bool none_open) {
        const base::MutexLock lock(mutex_);
        if (plan_) std::rethrow_exception(plan_);
        if (none_open && world_) std::rethrow_exception(world_);
    }

private:
    const OpenStore open_;
    base::Mutex mutex_;
    std::exception_ptr world_ POSTROOM_GUARDED_BY(mutex_);
    std::exception_ptr plan_ POSTROOM_GUARDED_BY(mutex_);
};

// Silent until the relay is whole: what keeps it from that is thrown, and need not be logged too.
// What is wrong with some stores only is found, and told, again soon.
class SilentStart final : public Observer {
public:
    explicit SilentStart(Observer& next) : next_(next) {}
    void open() { open_ = true; }
    void observe(const Event& event) noexcept override {
        if (open_) next_.observe(event);
    }

private:
    Observer& next_;
    std::atomic<bool> open_ = false;
};

}  // namespace

class Relay::Parts {
public:
    Parts(RelayPlan plan, OpenStore open)
        : plan_(std::move(plan)),
          log_(log_options(plan_.log)),
          observers_{&log_, &metrics_},
          silent_start_(observers_),
          planned_(plan_.stores),
          open_(std::move(open)) {
        for (const SinkConfig& config : plan_.sinks) sinks_[config.name] = make_sink(config);
        stores_.emplace(
            planned_,
            DiscoveryOptions{.budget = std::make_shared<ConnectionBudget>(plan_.connections_max),
                             .observer = &silent_start_},
            [this](const std::string& url, const OpenOptions& options) {
                return open_(url, options);
            });
        open_.rethrow(stores_->stores().empty());
        silent_start_.open();
        plan_.dispatcher.observer = &observers_;
        dispatcher_.emplace(*stores_, plan_.dispatcher);
        for (const RoutePlan& route : plan_.routes) {
            const std::shared_ptr<Sink>& sink = sinks_.at(route.sink);
            dispatcher_->routes().on_matching(route.pattern, plan_.dispatcher.batch,
                                              handler_of(sink), sink->destination());
        }
        pauses_.emplace(plan_.log, *stores_, *dispatcher_);
    }

    void start() {
        pauses_->start();
        dispatcher_->start();
    }
    void stop() {
        pauses_->request_stop();
        dispatcher_->close();
        for (const auto& [name, sink] : sinks_) sink->close();
        sinks_.clear();
    }
    std::size_t stores_open() const { return stores_->stores().size(); }
    std::uint64_t delivered() const { return metrics_.snapshot(Queue::outbox).dispatch_success; }

private:
    RelayPlan plan_;
    LogObserver log_;
    Metrics metrics_;
    Observers observers_;
    SilentStart silent_start_;
    PlannedStores planned_;
    WatchedOpen open_;
    std::map<std::string, std::shared_ptr<Sink>> sinks_;
    std::optional<DiscoveredStores> stores_;
    std::optional<Dispatcher> dispatcher_;
    std::optional<PauseWatch> pauses_;
};

Relay::Relay(RelayPlan plan, OpenStore open)
    : parts_(std::make_unique<Parts>(std::move(plan), std::move(open))) {}

Relay::~Relay() = default;

void Relay::start() { parts_->start(); }
void Relay::stop() { parts_->stop(); }
std::size_t Relay::stores_open() const { return parts_->stores_open(); }
std::uint64_t Relay::delivered() const { return parts_->delivered(); }

}  // namespace postroom::daemon
