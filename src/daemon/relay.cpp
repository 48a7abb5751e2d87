#include "daemon/relay.hpp"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/mutex.hpp"
#include "base/wildcards.hpp"
#include "daemon/due_left.hpp"
#include "daemon/due_watch.hpp"
#include "daemon/log_lines.hpp"
#include "daemon/pause_watch.hpp"
#include "daemon/program_tracing.hpp"
#include "daemon/relay_admin.hpp"
#include "daemon/sink_names.hpp"
#include "observe/log_line.hpp"
#include "postroom/error.hpp"
#include "postroom/store_metrics.hpp"
#include "postroom/tenancy.hpp"

namespace postroom::daemon {

namespace {

constexpr std::chrono::milliseconds due_look_interval{500};
// Longer than it takes claims to find what was committed behind them.
constexpr std::chrono::seconds passed_by_max{35};

// The stores of the plan: always the same.
class PlannedStores final : public DatabaseDiscovery {
public:
    explicit PlannedStores(const RelayPlan& plan) {
        for (const StorePlan& store : plan.stores) {
            databases_.push_back({.id = store.name, .url = store.url, .options = store.options});
            databases_.back().options.restore_guard = plan.restore_guard;
        }
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
        } catch (const Error& error) {
            const base::MutexLock lock(mutex_);
            last_errors_[options.store_id] = error.what();
            if (!world_) world_ = std::current_exception();
            throw;
        } catch (const std::exception& error) {
            const base::MutexLock lock(mutex_);
            last_errors_[options.store_id] = error.what();
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

    // Why a store could not be opened when that was last tried.
    std::string last_error(const std::string& store) {
        const base::MutexLock lock(mutex_);
        const auto at = last_errors_.find(store);
        return at == last_errors_.end() ? "it is being opened" : at->second;
    }

private:
    const OpenStore open_;
    base::Mutex mutex_;
    std::map<std::string, std::string> last_errors_ POSTROOM_GUARDED_BY(mutex_);
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
          named_log_(plan_.routes, log_),
          metrics_(
              {.destination_of = [this](const std::string& topic) { return destination_of(topic); },
               .version = plan_.admin.version}),
          tracing_(plan_.tracing,
                   [log = plan_.log](LogLevel level, std::string_view text) {
                       write_log(log, level, text);
                   }),
          observers_{&named_log_, &metrics_, &due_, &tracing_.observer()},
          silent_start_(observers_),
          planned_(plan_),
          open_(std::move(open)) {
        for (const std::string& warning : plan_.warnings) warn("config", warning);
        warn_of_state_dir();
        for (const SinkConfig& config : plan_.sinks) {
            const std::shared_ptr<Sink>& sink = sinks_[config.name] = make_sink(config);
            for (const std::string& warning : sink->warnings())
                warn("sinks." + config.name, warning);
        }
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
        std::map<std::string, std::shared_ptr<SendRate>> rates;
        for (const auto& [sink, per_second] : plan_.rates)
            rates[sink] = std::make_shared<SendRate>(per_second);
        for (const RoutePlan& route : plan_.routes) {
            const std::shared_ptr<Sink>& sink = sinks_.at(route.sink);
            routes_.push_back(
                {.pattern = route.pattern, .sink = route.sink, .destination = sink->destination()});
            dispatcher_->routes().on_matching(route.pattern, plan_.dispatcher.batch,
                                              handler_of(sink), sink->destination(), route.retry,
                                              rates[route.sink]);
        }
        pauses_.emplace(plan_.log, *stores_, *dispatcher_);
        admin_.emplace(plan_, routes_, *stores_, metrics_, *dispatcher_,
                       [this] { return unopened(); });
    }

    void start() {
        pauses_->start();
        dispatcher_->start();
        admin_->start();
    }
    // A request that waits for a slow statement does not keep deliveries from ending in time.
    void stop() {
        admin_->request_stop();
        pauses_->request_stop();
        dispatcher_->close();
        for (const auto& [name, sink] : sinks_) sink->close();
        sinks_.clear();
        admin_->stop();
        tracing_.close();
    }
    std::size_t stores_open() const { return stores_->stores().size(); }
    std::uint64_t delivered() const { return metrics_.total(Queue::outbox).dispatch_success; }
    std::uint64_t undelivered() const { return due_.left(); }
    bool finished_due() {
        std::set<std::string> ids;
        for (const StorePtr& store : stores_->stores()) ids.insert(store->id());
        if (!due_.through(ids)) {
            dispatcher_->nudge();
            return false;
        }
        // Outcomes for a store that fails may never be stored; closing bounds the wait for them.
        if (due_.any_failed()) return true;
        return dispatcher_->status().in_flight == 0 && nothing_passed_by();
    }
    bool any_store_failed() const { return due_.any_failed(); }
    std::vector<StoreWait> waits() const { return dispatcher_->waits(); }

private:
    // A claim may pass by a message that is due: somebody has its row locked, or it was committed
    // below what claims know, and is found by a later one. Claims go on for such, as long as they
    // bring something now and then.
    bool nothing_passed_by() {
        const Instant now = monotonic_clock().now();
        if (now < next_look_) return false;
        next_look_ = now + due_look_interval;
        if (std::exchange(delivered_at_look_, delivered()) != delivered() || !passed_by_since_)
            passed_by_since_ = now;
        const bool give_up = now - *passed_by_since_ >= passed_by_max;
        bool none = true;
        for (const StorePtr& store : stores_->stores()) {
            const std::vector<WorkItemId> left = due_left(*store, [this](const Message& message) {
                return route_of(message.topic) != nullptr;
            });
            if (give_up) due_.note_left(store->id(), left);
            none = none && left.empty();
        }
        if (none || give_up) return true;
        due_.look_again();
        return false;
    }

    std::vector<UnopenedStore> unopened() {
        std::vector<UnopenedStore> out;
        for (const StorePlan& store : plan_.stores)
            if (stores_->find(store.name) == nullptr)
                out.push_back({.store = store.name, .error = open_.last_error(store.name)});
        return out;
    }

    // nullptr: nobody takes it.
    const AdminRoute* route_of(const std::string& topic) const {
        for (const AdminRoute& route : routes_)
            if (base::matches_wildcards(route.pattern, topic)) return &route;
        return nullptr;
    }
    std::string destination_of(const std::string& topic) const {
        const AdminRoute* const route = route_of(topic);
        return route == nullptr ? "" : route->destination;
    }

    // Without it the relay delivers as well, and notices less.
    void warn_of_state_dir() const {
        const std::string& folder = plan_.restore_guard.state_dir;
        if (!plan_.restore_guard.on || folder.empty() || ::access(folder.c_str(), W_OK | X_OK) == 0)
            return;
        warn("relay.state_dir",
             folder + ": cannot write there; a database that is put back in place goes unnoticed");
    }

    void warn(const std::string& about, const std::string& warning) const {
        write_log(plan_.log, LogLevel::warning,
                  LogLine("CONFIG_WARNING", value_chars_max)
                      .add("about", about)
                      .add("warning", warning)
                      .text());
    }

    RelayPlan plan_;
    LogObserver log_;
    SinkNames named_log_;
    std::vector<AdminRoute> routes_;  // constant once messages are delivered
    StoreMetrics metrics_;
    DueWatch due_;
    ProgramTracing tracing_;
    Observers observers_;
    SilentStart silent_start_;
    PlannedStores planned_;
    WatchedOpen open_;
    std::map<std::string, std::shared_ptr<Sink>> sinks_;
    std::optional<DiscoveredStores> stores_;
    std::optional<Dispatcher> dispatcher_;
    std::optional<PauseWatch> pauses_;
    std::optional<RelayAdmin> admin_;

    // Of a relay that ends when nothing is due.
    Instant next_look_{};
    std::optional<Instant> passed_by_since_;
    std::uint64_t delivered_at_look_ = 0;
};

Relay::Relay(RelayPlan plan, OpenStore open)
    : parts_(std::make_unique<Parts>(std::move(plan), std::move(open))) {}

Relay::~Relay() = default;

void Relay::start() { parts_->start(); }
void Relay::stop() { parts_->stop(); }
std::size_t Relay::stores_open() const { return parts_->stores_open(); }
std::uint64_t Relay::delivered() const { return parts_->delivered(); }
std::uint64_t Relay::undelivered() const { return parts_->undelivered(); }
bool Relay::finished_due() { return parts_->finished_due(); }
bool Relay::any_store_failed() const { return parts_->any_store_failed(); }
std::vector<StoreWait> Relay::waits() const { return parts_->waits(); }

}  // namespace postroom::daemon
