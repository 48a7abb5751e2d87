// Dispatcher::Threads: the threads of a dispatcher, and the stores they serve.
//
// Each store has a DispatchCore. Its steps are taken by a fixed number of threads in the order of a
// Schedule, its handlers run on the workers that all stores share, and its doorbell is watched by
// one thread for all. Stores come and go with the provider.
//
// Of the step threads one leads: it sleeps until the next step is due, while the others sleep until
// they are called. Whoever takes a step calls the next leader first, so a step that hangs holds up
// nobody else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "postroom/dispatcher.hpp"
#include "runtime/bell_watch.hpp"
#include "runtime/ready_stores.hpp"
#include "runtime/schedule.hpp"
#include "runtime/served_store.hpp"
#include "runtime/visit_turns.hpp"
#include "runtime/wait_watch.hpp"
#include "runtime/worker_pool.hpp"

namespace postroom {

// How long at least outcomes that a database does not take are tried again before a store is let go
// of.
inline constexpr Duration settle_time_min = std::chrono::seconds{5};

// Thread safety: as Dispatcher.
class Dispatcher::Threads {
public:
    // For one store: with threads enough for all its steps.
    Threads(Store& store, const DispatcherOptions& options);
    Threads(StoreProvider& stores, const DispatcherOptions& options);
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    ~Threads();

    // Also after close(): there is one start only.
    bool started() const { return started_ || closed_; }
    Routes& routes() { return *routes_; }
    void intercept(std::shared_ptr<Interceptor> interceptor);

    void start();
    void close();

    void pause(const std::string& topic);
    void resume(const std::string& topic);
    void pause_in(const std::string& store_id, std::set<std::string> topics);
    void nudge();
    std::vector<std::string> probe(const std::string& destination);
    DispatcherStatus status() const;
    std::vector<StoreWait> waits() const { return waits_.waits(); }
    const OwnerToken& owner() const { return options_.owner; }

private:
    Threads(std::unique_ptr<StoreProvider> own, StoreProvider* given,
            const DispatcherOptions& options, std::size_t step_threads,
            const ScheduleLimits& limits);

    std::vector<ServedStorePtr> served() const;

    void start_threads();
    // Serves the stores that the provider has now, and lets go of the others.
    void follow_provider();
    void serve(std::uint64_t number, const StorePtr& store);
    void begin_to_leave(const ServedStorePtr& store);
    // Notifies the observer of something that does not speak against the store's other steps.
    void notify_failure(const Store& store, std::string_view operation,
                        std::string_view error) const;
    Observer& observer() const;
    void end_new_work(const ServedStore& store);

    void wake(std::uint64_t store, Step step, Instant at);
    void take_steps(const std::stop_token& stop);
    void lead(base::MutexLock& lock, const std::stop_token& stop, Duration sleep)
        POSTROOM_REQUIRES(mutex_);
    void call_leader(Instant due) POSTROOM_REQUIRES(mutex_);
    ServedStorePtr finish_step(const Schedule::Pick& pick, const Schedule::Report& report)
        POSTROOM_REQUIRES(mutex_);

    Schedule::Report take_step(const ServedStorePtr& store, Step step);
    Instant claim(ServedStore& store, Instant now);
    // When to poll a store in which nothing waits, and nothing can come unheard.
    std::optional<Instant> quiet_until(ServedStore& store, Instant now);
    Instant maintain(ServedStore& store, Instant now);
    Instant listen(const ServedStorePtr& store);
    Instant leave(ServedStore& store, Instant now);
    void bell_broke(ServedStore& store, const std::string& error);

    bool work();
    void note_cold(ServedStore& store, bool waits);

    void wait_for_new_work_to_end();
    bool all_served(bool (DispatchCore::*holds)() const, Duration timeout) const;

    // Constant after construction, or after start().
    const std::unique_ptr<StoreProvider> own_provider_;
    StoreProvider& provider_;
    const DispatcherOptions options_;
    const std::size_t step_threads_;
    const bool asks_first_;  // whether there is anything, before it claims
    // Nothing is claimed while so many stores have something at hand that was claimed.
    const std::size_t cold_max_;
    const VisitTurns turns_;  // of stores in which nothing waits
    const std::shared_ptr<Routes> routes_ = std::make_shared<Routes>();
    std::vector<std::shared_ptr<Interceptor>> interceptors_;
    bool started_ = false;
    bool closed_ = false;

    // Synchronize themselves.
    ReadyStores ready_;
    WaitWatch waits_;

    base::Mutex follow_mutex_;  // one change of the stores at a time
    std::uint64_t next_number_ POSTROOM_GUARDED_BY(follow_mutex_) = 0;
    bool following_ POSTROOM_GUARDED_BY(follow_mutex_) = true;

    mutable base::Mutex mutex_;
    Schedule schedule_ POSTROOM_GUARDED_BY(mutex_);
    std::map<std::uint64_t, ServedStorePtr> stores_ POSTROOM_GUARDED_BY(mutex_);
    std::set<std::string> paused_ POSTROOM_GUARDED_BY(mutex_);  // in all stores
    std::map<std::string, std::set<std::string>> paused_in_
        POSTROOM_GUARDED_BY(mutex_);  // in one, by its id
    bool leading_ POSTROOM_GUARDED_BY(mutex_) = false;
    bool called_ POSTROOM_GUARDED_BY(mutex_) = false;  // the leader
    Instant leader_sleeps_until_ POSTROOM_GUARDED_BY(mutex_){};
    base::CondVar leader_;
    base::CondVar followers_;

    // Of the thread that starts and closes.
    Subscription subscription_;
    std::unique_ptr<BellWatch> bells_;
    std::unique_ptr<WorkerPool> workers_;
    std::vector<std::jthread> threads_;
};

}  // namespace postroom
