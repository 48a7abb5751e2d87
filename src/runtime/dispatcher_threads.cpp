// Which stores the threads of a dispatcher serve, how they start and how they end. The steps are in
// dispatcher_steps.cpp.
#include "runtime/dispatcher_threads.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <thread>
#include <utility>

#include "base/host_name.hpp"
#include "base/random.hpp"

namespace postroom {

namespace {

constexpr Duration close_look_interval = std::chrono::milliseconds{1};
// Between the first cleanings of two stores, so that a thousand of them do not come at once.
constexpr Duration maintain_spacing = std::chrono::milliseconds{500};
constexpr Duration report_spacing = std::chrono::milliseconds{200};
// Numbers only grow: a store that comes late is not unseen for longer than a minute.
constexpr std::uint64_t report_places = 300;
// For all stores together, at the end: one that is away is not waited for.
constexpr Duration sign_off_time_max = std::chrono::seconds{2};
// A store that is silent for so long is told of, and again as long as it is.
constexpr Duration silence_told_after = std::chrono::seconds{10};
constexpr Duration silence_told_again = std::chrono::minutes{1};
constexpr std::size_t steps_of_one_store = 4;  // beside renewals
// The steps that end before messages do.
constexpr std::array new_work{Step::claim, Step::report, Step::maintain, Step::listen};
constexpr std::size_t cold_stores_per_worker = 4;

WorkerIdentity this_process() {
    return {.host = base::host_name(), .pid = getpid(), .version = POSTROOM_VERSION};
}

base::SystemRandom& system_random() {
    static base::SystemRandom random;
    return random;
}

DispatcherOptions completed(const StoreProvider& stores, DispatcherOptions options) {
    if (options.owner.is_nil()) options.owner = OwnerToken::generate();
    const std::vector<StorePtr> all = stores.stores();
    for (const StorePtr& store : all) validate(options, store->limits());
    // What no store would allow is refused before there is one.
    if (all.empty()) {
        Limits any;
        any.lease_max = any.delay_max = Duration::max();
        any.batch_max = std::numeric_limits<decltype(any.batch_max)>::max();
        validate(options, any);
    }
    return options;
}

std::shared_ptr<const SelectionStrategy> strategy_of(const DispatcherOptions& options) {
    if (options.strategy != nullptr) return options.strategy;
    return std::make_shared<RoundRobin>();
}

// A quarter of the threads for those that make trouble; two steps of one store at a time, so that
// it takes several of them to use up all threads before they are known.
ScheduleLimits limits_of(std::size_t threads) {
    return {.threads = threads,
            .per_store = std::max<std::size_t>(1, std::min<std::size_t>(2, threads / 2)),
            .suspects = std::max<std::size_t>(1, threads / 4)};
}

}  // namespace

Dispatcher::Threads::Threads(Store& store, const DispatcherOptions& options)
    : Threads(std::make_unique<FixedStores>(store), nullptr, options, steps_of_one_store + 1,
              {.threads = steps_of_one_store + 1,
               .per_store = steps_of_one_store,
               .suspects = steps_of_one_store}) {}

Dispatcher::Threads::Threads(StoreProvider& stores, const DispatcherOptions& options)
    : Threads(nullptr, &stores, options, options.store_threads, limits_of(options.store_threads)) {}

Dispatcher::Threads::Threads(std::unique_ptr<StoreProvider> own, StoreProvider* given,
                             const DispatcherOptions& options, std::size_t step_threads,
                             const ScheduleLimits& limits)
    : own_provider_(std::move(own)),
      provider_(given == nullptr ? *own_provider_ : *given),
      options_(completed(provider_, options)),
      step_threads_(step_threads),
      asks_first_(given != nullptr),
      cold_max_(cold_stores_per_worker * options.worker_count),
      turns_(options_.quiet_poll_interval),
      waits_(monotonic_clock(), {.first = silence_told_after, .again = silence_told_again},
             [this](const StoreWait& wait) {
                 observer().observe({.kind = EventKind::store_waits,
                                     .queue = options_.queue,
                                     .store = wait.store,
                                     .operation = wait.operation,
                                     .duration = wait.waited});
             }),
      schedule_(limits, strategy_of(options)) {}

Dispatcher::Threads::~Threads() { close(); }

void Dispatcher::Threads::intercept(std::shared_ptr<Interceptor> interceptor) {
    interceptors_.push_back(std::move(interceptor));
}

std::vector<ServedStorePtr> Dispatcher::Threads::served() const {
    std::vector<ServedStorePtr> out;
    const base::MutexLock lock(mutex_);
    for (const auto& [number, store] : stores_) out.push_back(store);
    return out;
}

void Dispatcher::Threads::start() {
    started_ = true;
    try {
        start_threads();
        subscription_ = provider_.subscribe([this] { follow_provider(); });
        follow_provider();
    } catch (...) {
        close();
        throw;
    }
}

void Dispatcher::Threads::start_threads() {
    workers_ = std::make_unique<WorkerPool>(options_.worker_count, [this] { return work(); });
    bells_ = std::make_unique<BellWatch>(
        BellWatch::Calls{.rung = [](ServedStore& store) { store.core->rung(); },
                         .broken = [this](ServedStore& store,
                                          const std::string& error) { bell_broke(store, error); }});
    for (std::size_t i = 0; i < step_threads_; ++i)
        threads_.emplace_back([this](const std::stop_token& stop) { take_steps(stop); });
}

void Dispatcher::Threads::follow_provider() {
    const base::MutexLock lock(follow_mutex_);
    if (!following_) return;
    const std::vector<StorePtr> wanted = provider_.stores();
    std::set<const Store*> known;
    for (const ServedStorePtr& store : served()) {
        if (store->leaving) continue;
        if (std::find(wanted.begin(), wanted.end(), store->store) == wanted.end()) {
            begin_to_leave(store);
        } else {
            known.insert(store->store.get());
        }
    }
    for (const StorePtr& store : wanted) {
        if (known.contains(store.get())) continue;
        const std::uint64_t number = next_number_++;
        try {
            serve(number, store);
        } catch (const std::exception& error) {
            notify_failure(*store, "start", error.what());
        }
    }
}

void Dispatcher::Threads::notify_failure(const Store& store, std::string_view operation,
                                         std::string_view error) const {
    observer().observe({.kind = EventKind::store_failed,
                        .queue = options_.queue,
                        .store = store.id(),
                        .error = error,
                        .operation = operation});
}

Observer& Dispatcher::Threads::observer() const {
    return options_.observer == nullptr ? default_observer() : *options_.observer;
}

void Dispatcher::Threads::serve(std::uint64_t number, const StorePtr& store) {
    auto core = std::make_shared<DispatchCore>(
        *store, options_, monotonic_clock(),
        options_.random == nullptr ? system_random() : *options_.random, routes_);
    for (const std::shared_ptr<Interceptor>& interceptor : interceptors_)
        core->intercept(interceptor);
    core->introduce(this_process());
    const auto served = std::make_shared<ServedStore>(number, store, core);
    const auto due = [this, number](Step step) {
        return [this, number, step] { wake(number, step, Instant::min()); };
    };
    core->connect({.workers =
                       [this, weak = std::weak_ptr(served)](std::size_t count) {
                           if (const ServedStorePtr ready = weak.lock()) ready_.add(ready);
                           workers_->wake(count);
                       },
                   .poller = due(Step::claim),
                   .settler = due(Step::settle),
                   .keeper = due(Step::keep),
                   .reporter = due(Step::report)});
    const Instant now = monotonic_clock().now();
    {
        const base::MutexLock lock(mutex_);
        for (const std::string& topic : paused_) core->pause(topic);
        if (const auto here = paused_in_.find(store->id()); here != paused_in_.end()) {
            for (const std::string& topic : here->second) core->pause(topic);
        }
        stores_.emplace(number, served);
        schedule_.add(number, store->id());
        for (const Step step : {Step::settle, Step::keep, Step::claim})
            schedule_.wake(number, step, now);
        const Duration spacing = maintain_spacing * static_cast<std::int64_t>(number);
        schedule_.wake(number, Step::maintain, now + std::min(spacing, options_.purge_interval));
        schedule_.wake(number, Step::report,
                       now + report_spacing * static_cast<std::int64_t>(number % report_places));
        if (options_.wake_ups) schedule_.wake(number, Step::listen, now);
        call_leader(now);
    }
    store->attach(options_.queue, core);
}

// As close(), for one store, and nobody waits for it.
void Dispatcher::Threads::begin_to_leave(const ServedStorePtr& store) {
    store->leaving_since = monotonic_clock().now();
    store->leaving = true;
    store->store->detach(options_.queue, *store->core);
    store->core->begin_close();
    note_cold(*store, false);
    end_new_work(*store);
    wake(store->number, Step::leave, Instant::min());
}

void Dispatcher::Threads::end_new_work(const ServedStore& store) {
    store.stop.request_stop();
    {
        const base::MutexLock lock(mutex_);
        for (const Step step : new_work) schedule_.end(store.number, step);
    }
    bells_->remove(store);
}

void Dispatcher::Threads::wait_for_new_work_to_end() {
    const auto under_way = [this] {
        const base::MutexLock lock(mutex_);
        return std::any_of(stores_.begin(), stores_.end(),
                           [this](const auto& entry) POSTROOM_REQUIRES(mutex_) {
                               return std::any_of(new_work.begin(), new_work.end(),
                                                  [&](Step step) POSTROOM_REQUIRES(mutex_) {
                                                      return schedule_.under_way(entry.first, step);
                                                  });
                           });
    };
    while (under_way()) std::this_thread::sleep_for(close_look_interval);
}

bool Dispatcher::Threads::all_served(bool (DispatchCore::*holds)() const, Duration timeout) const {
    const Instant give_up = monotonic_clock().now() + timeout;
    std::vector<ServedStorePtr> waited_for = served();
    for (;;) {
        std::erase_if(waited_for,
                      [&](const ServedStorePtr& store) { return ((*store->core).*holds)(); });
        if (waited_for.empty()) return true;
        if (monotonic_clock().now() >= give_up) return false;
        std::this_thread::sleep_for(close_look_interval);
    }
}

// The order is that of the messages: nothing new comes in, what runs ends, all is settled.
void Dispatcher::Threads::close() {
    if (std::exchange(closed_, true) || !started_) return;
    subscription_ = {};
    {
        const base::MutexLock lock(follow_mutex_);
        following_ = false;
    }
    const std::vector<ServedStorePtr> all = served();
    for (const ServedStorePtr& store : all) {
        store->store->detach(options_.queue, *store->core);
        if (options_.on_close == OnClose::release) store->core->begin_close();
        end_new_work(*store);
    }
    if (bells_ != nullptr) bells_->stop();
    wait_for_new_work_to_end();
    const Instant deadline = monotonic_clock().now() + options_.drain_timeout;
    if (options_.on_close == OnClose::drain) {
        all_served(&DispatchCore::drained, options_.drain_timeout);
        for (const ServedStorePtr& store : all) store->core->begin_close();
    }
    if (!all_served(&DispatchCore::idle, deadline - monotonic_clock().now())) {
        for (const ServedStorePtr& store : all) store->core->request_stop_of_handlers();
        workers_->stop();
        all_served(&DispatchCore::idle, options_.drain_timeout);
    }
    if (workers_ != nullptr) workers_->stop();
    all_served(&DispatchCore::all_settled, std::max(options_.drain_timeout, settle_time_min));
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
    bells_.reset();
    const Instant give_up = monotonic_clock().now() + sign_off_time_max;
    for (const ServedStorePtr& store : all) {
        if (monotonic_clock().now() < give_up) store->core->sign_off();
        store->core->disconnect();
        if (monotonic_clock().now() < give_up) store->core->settle_late();
    }
    const base::MutexLock lock(mutex_);
    stores_.clear();
}

// The cores are notified under the lock, so that the last decision is also the last they hear.
void Dispatcher::Threads::pause(const std::string& topic) {
    const base::MutexLock lock(mutex_);
    paused_.insert(topic);
    for (const auto& [number, served] : stores_) served->core->pause(topic);
}

void Dispatcher::Threads::resume(const std::string& topic) {
    const base::MutexLock lock(mutex_);
    paused_.erase(topic);
    for (const auto& [number, served] : stores_) {
        const auto here = paused_in_.find(served->store->id());
        if (here == paused_in_.end() || !here->second.contains(topic)) served->core->resume(topic);
    }
}

void Dispatcher::Threads::pause_in(const std::string& store_id, std::set<std::string> topics) {
    const base::MutexLock lock(mutex_);
    std::set<std::string>& here = paused_in_[store_id];
    for (const auto& [number, served] : stores_) {
        if (served->store->id() != store_id) continue;
        for (const std::string& topic : topics) served->core->pause(topic);
        for (const std::string& topic : here)
            if (!topics.contains(topic) && !paused_.contains(topic)) served->core->resume(topic);
    }
    here = std::move(topics);
}

void Dispatcher::Threads::nudge() {
    for (const ServedStorePtr& store : served()) store->core->nudge();
}

std::vector<std::string> Dispatcher::Threads::probe(const std::string& destination) {
    std::vector<std::string> left_alone;
    for (const ServedStorePtr& store : served()) {
        if (!store->core->probe(destination, monotonic_clock().now())) continue;
        left_alone.push_back(store->store->id());
        store->core->nudge();
    }
    return left_alone;
}

DispatcherStatus Dispatcher::Threads::status() const {
    DispatcherStatus total;
    std::set<std::string> circuits;
    for (const ServedStorePtr& store : served()) {
        const DispatcherStatus one = store->core->status();
        ++total.stores;
        total.hot_depth += one.hot_depth;
        total.cold_depth += one.cold_depth;
        total.running += one.running;
        total.in_flight += one.in_flight;
        circuits.insert(one.open_circuits.begin(), one.open_circuits.end());
    }
    total.open_circuits = {circuits.begin(), circuits.end()};
    const base::MutexLock lock(mutex_);
    total.paused = {paused_.begin(), paused_.end()};
    return total;
}

}  // namespace postroom
