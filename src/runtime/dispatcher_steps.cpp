// What the threads of a dispatcher do: taking steps, and what the steps are.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "runtime/dispatcher_threads.hpp"

namespace postroom {

namespace {

// Even a leader that could sleep for ever looks again now and then.
constexpr Duration sleep_max = std::chrono::seconds{30};
constexpr Duration bell_repair_pause = std::chrono::seconds{1};  // doubled each time
constexpr Duration bell_repair_pause_max = std::chrono::minutes{1};
constexpr Duration idle_report_interval = std::chrono::minutes{1};
// So that a visit cleans up on the connection that was opened for its report.
constexpr Duration after_report = std::chrono::seconds{1};
constexpr Duration leave_look_interval = std::chrono::milliseconds{20};
// The database's clock may have coarser steps than ours.
constexpr Duration due_margin = std::chrono::milliseconds{2};

// What a step asks of its store.
std::string_view name_of(Step step) {
    switch (step) {
        case Step::keep:
            return "extend";
        case Step::settle:
            return "settle";
        case Step::leave:
            return "leave";
        case Step::listen:
            return "listen";
        case Step::claim:
            return "claim";
        case Step::report:
            return "report";
        case Step::maintain:
            return "upkeep";
    }
    POSTROOM_ASSERT(false && "a Step outside its enum");
    return "";
}

}  // namespace

void Dispatcher::Threads::wake(std::uint64_t store, Step step, Instant at) {
    const base::MutexLock lock(mutex_);
    schedule_.wake(store, step, at);
    call_leader(at);
}

void Dispatcher::Threads::call_leader(Instant due) {
    if (!leading_ || due >= leader_sleeps_until_) return;
    called_ = true;
    leader_.notify_one();
}

void Dispatcher::Threads::take_steps(const std::stop_token& stop) {
    base::MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        const Instant now = monotonic_clock().now();
        const std::optional<Schedule::Pick> pick = schedule_.next(now, ready_.cold() < cold_max_);
        if (pick) {
            ServedStorePtr store = stores_.at(pick->store);
            if (!leading_) followers_.notify_one();
            lock.unlock();
            const Schedule::Report report = take_step(store, pick->step);
            store.reset();
            lock.lock();
            ServedStorePtr gone = finish_step(*pick, report);
            if (gone == nullptr) continue;
            lock.unlock();
            gone->core->sign_off();
            gone->core->disconnect();
            gone->core->settle_late();
            gone.reset();
            lock.lock();
        } else if (leading_) {
            followers_.wait(lock, stop, [this]() POSTROOM_REQUIRES(mutex_) { return !leading_; });
        } else {
            lead(lock, stop, schedule_.wake_at(now) - now);
        }
    }
}

void Dispatcher::Threads::lead(base::MutexLock& lock, const std::stop_token& stop, Duration sleep) {
    leading_ = true;
    called_ = false;
    sleep = std::min(sleep, sleep_max);
    leader_sleeps_until_ = monotonic_clock().now() + sleep;
    leader_.wait_for(lock, stop, sleep, [this]() POSTROOM_REQUIRES(mutex_) { return called_; });
    leading_ = false;
}

// Returns a store that has left, so that it ends outside of the mutex.
ServedStorePtr Dispatcher::Threads::finish_step(const Schedule::Pick& pick,
                                                const Schedule::Report& report) {
    schedule_.finished(pick, monotonic_clock().now(), report);
    call_leader(schedule_.wake_at(monotonic_clock().now()));
    if (pick.step != Step::leave || report.next != Instant::max()) return nullptr;
    if (schedule_.under_way(pick.store) > 0) {
        const Instant look_again = monotonic_clock().now() + leave_look_interval;
        schedule_.wake(pick.store, Step::leave, look_again);
        call_leader(look_again);
        return nullptr;
    }
    schedule_.remove(pick.store);
    ready_.set_cold(*stores_.at(pick.store), false);
    const auto found = stores_.find(pick.store);
    ServedStorePtr gone = std::move(found->second);
    stores_.erase(found);
    return gone;
}

Schedule::Report Dispatcher::Threads::take_step(const ServedStorePtr& store, Step step) {
    DispatchCore& core = *store->core;
    const WaitWatch::Wait wait(waits_, store->store->id(), name_of(step));
    const std::uint64_t failures = core.failures();
    const Instant now = monotonic_clock().now();
    Instant next{};
    switch (step) {
        case Step::keep:
            next = core.keep_step(now);
            break;
        case Step::settle:
            next = core.settle_step(now);
            break;
        case Step::claim:
            next = claim(*store, now);
            break;
        case Step::listen:
            next = listen(store);
            break;
        case Step::report:
            next = core.report_step(
                now, store->quiet ? turns_.after(now, store->number) - now : idle_report_interval);
            break;
        case Step::maintain:
            next = maintain(*store, now);
            break;
        case Step::leave:
            next = leave(*store, now);
            break;
    }
    return {.next = next,
            .failed = core.failures() != failures,
            .claimed = store->quiet ? 0 : core.last_claimed()};
}

Instant Dispatcher::Threads::claim(ServedStore& store, Instant now) {
    if (const std::optional<Instant> quiet = quiet_until(store, now)) return *quiet;
    if (store.quiet.exchange(false))
        wake(store.number, Step::maintain, now + options_.reap_interval);
    const Instant next = store.core->claim_step(now, store.stop.get_token());
    if (store.core->last_claimed() > 0) note_cold(store, true);
    // A worker may have taken all of it before that was noted.
    if (!store.core->has_cold()) note_cold(store, false);
    return next;
}

// Most rings are for nothing, our own settles among them, and a claim is a lot of work where the
// connection has to be opened first. So whether there is anything is asked first, where that is an
// answer that lasts until the next ring.
std::optional<Instant> Dispatcher::Threads::quiet_until(ServedStore& store, Instant now) {
    if (!asks_first_ || !store.heard_all) return std::nullopt;
    const DispatcherStatus status = store.core->status();
    if (status.in_flight > 0 || status.hot_depth > 0 || status.running > 0) return std::nullopt;
    try {
        const Duration in = store.forecast();
        if (in <= Duration::zero()) return std::nullopt;
        store.quiet = true;
        return now + std::min(in, options_.quiet_poll_interval) + due_margin;
    } catch (const std::exception&) {  // the claim will fail too, and knows what to do then
        return std::nullopt;
    }
}

// Where nothing waits there is nothing to take back, and history may grow old a little longer:
// until the next visit, unless it is to be purged more often than there are visits.
Instant Dispatcher::Threads::maintain(ServedStore& store, Instant now) {
    const bool in_visits = store.quiet && options_.purge_interval >= options_.quiet_poll_interval;
    const Instant visit = turns_.after(now, store.number) + after_report;
    if (in_visits && !turns_.is_on(now, store.number)) return visit;
    const Instant next = store.core->maintain_step(now, store.stop.get_token());
    // What is unfinished, or due in a moment, is done in this visit.
    if (!store.quiet || next < now + after_report) return next;
    return std::max(next, in_visits ? visit : now + options_.purge_interval);
}

// A bell that cannot listen, perhaps because the budget has no connection for it, makes no suspect
// of its store: polling finds the messages.
Instant Dispatcher::Threads::listen(const ServedStorePtr& store) {
    store->heard_all = false;
    try {
        store->bell = store->store->doorbell(options_.queue);
        store->bell->listen(store->stop.get_token());
        // From this look on nothing is missed; what came before it is claimed below.
        store->bell->look();
    } catch (const std::exception& error) {
        // A bell that is told to stop before it listens is no failure.
        if (!store->leaving && !store->stop.stop_requested())
            notify_failure(*store->store, "listen", error.what());
        store->listen_pause =
            std::clamp(2 * store->listen_pause, bell_repair_pause, bell_repair_pause_max);
        return monotonic_clock().now() + store->listen_pause;
    }
    store->listen_pause = {};
    if (!store->forecast) store->forecast = store->bell->forecast();
    store->heard_all = store->forecast != nullptr;  // before the watch can find that it broke
    bells_->add(store);
    if (store->leaving) bells_->remove(*store);
    store->core->nudge();
    return Instant::max();
}

void Dispatcher::Threads::bell_broke(ServedStore& store, const std::string& error) {
    store.heard_all = false;
    notify_failure(*store.store, "listen", error);
    store.core->nudge();
    wake(store.number, Step::listen, monotonic_clock().now() + bell_repair_pause);
}

// Instant::max() when nothing is left to do there.
Instant Dispatcher::Threads::leave(ServedStore& store, Instant now) {
    if (store.core->idle()) return Instant::max();
    const Duration since = now - store.leaving_since.load();
    if (since >= options_.drain_timeout && !store.stop_asked.exchange(true))
        store.core->request_stop_of_handlers();
    // A database that was removed may not take the outcomes any more.
    const Duration patience = options_.drain_timeout + settle_time_min;
    if (since >= patience && store.core->status().running == 0) return Instant::max();
    return now + leave_look_interval;
}

// One message of the store whose turn it is.
bool Dispatcher::Threads::work() {
    const ReadyStores::Turn turn = ready_.next();
    if (turn.store == nullptr) return false;
    std::optional<Work> work = turn.store->core->take(monotonic_clock().now());
    if (turn.store->cold && (!work || !turn.store->core->has_cold())) note_cold(*turn.store, false);
    if (work) {
        turn.store->core->run(std::move(*work));
    } else {
        ready_.rest(turn);
    }
    return true;
}

// Nothing is claimed while many stores have something at hand that was claimed; when there are
// fewer, the leader is notified.
void Dispatcher::Threads::note_cold(ServedStore& store, bool waits) {
    const std::size_t before = ready_.cold();
    ready_.set_cold(store, waits);
    if (waits || before < cold_max_ || ready_.cold() >= cold_max_) return;
    const base::MutexLock lock(mutex_);
    call_leader(Instant::min());
}

}  // namespace postroom
