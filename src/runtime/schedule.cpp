#include "runtime/schedule.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace postroom {

namespace {

constexpr std::array order{Step::keep,  Step::settle, Step::leave,   Step::listen,
                           Step::claim, Step::report, Step::maintain};
// Reporting and cleaning up come last, but not never.
constexpr Duration maintain_patience = std::chrono::seconds{1};
// Where something is due and not allowed, it is allowed when a step ends, or when one turns out to
// be slow: the latter has to be looked for.
constexpr Duration blocked_look = std::chrono::milliseconds{50};

std::size_t index(Step step) { return static_cast<std::size_t>(step); }

}  // namespace

Schedule::Schedule(const ScheduleLimits& limits, std::shared_ptr<const SelectionStrategy> strategy)
    : limits_(limits), strategy_(std::move(strategy)) {}

void Schedule::add(StoreNumber store, const std::string& id) { members_[store].id = id; }

void Schedule::remove(StoreNumber store) {
    const auto at = members_.find(store);
    if (at == members_.end()) return;
    for (const Step step : order) set_due(store, at->second, step, Instant::max());
    std::erase_if(running_, [&](const Pick& pick) { return pick.store == store; });
    members_.erase(at);
    if (last_ && last_->store == store) last_.reset();
}

void Schedule::set_due(StoreNumber number, Member& member, Step step, Instant due) {
    StepState& state = member.steps.at(index(step));
    Due& queue = due_.at(index(step));
    if (state.due != Instant::max()) queue.erase({state.due, number});
    state.due = due;
    if (due != Instant::max()) queue.emplace(due, number);
}

void Schedule::wake(StoreNumber store, Step step, Instant at) {
    const auto found = members_.find(store);
    if (found == members_.end()) return;
    StepState& state = found->second.steps.at(index(step));
    if (state.ended) return;
    if (state.running) {
        state.again = true;
    } else if (at < state.due) {
        set_due(store, found->second, step, at);
    }
}

void Schedule::end(StoreNumber store, Step step) {
    const auto found = members_.find(store);
    if (found == members_.end()) return;
    found->second.steps.at(index(step)).ended = true;
    set_due(store, found->second, step, Instant::max());
    // Nobody waits for the turn of a store that is not polled any more.
    if (step == Step::claim && last_ && last_->store == store) last_.reset();
}

bool Schedule::is_suspect(const Member& member, Instant now) const {
    if (now < member.suspect_until) return true;
    return std::any_of(member.steps.begin(), member.steps.end(), [&](const StepState& state) {
        return state.running && now - state.started >= limits_.slow;
    });
}

bool Schedule::is_suspect(StoreNumber store, Instant now) const {
    const auto found = members_.find(store);
    return found != members_.end() && is_suspect(found->second, now);
}

Schedule::Load Schedule::load(Instant now) const {
    Load load;
    for (const Pick& pick : running_) {
        const bool suspect = is_suspect(members_.at(pick.store), now);
        if (pick.step == Step::keep) {
            load.suspect_keeps += suspect ? 1 : 0;
        } else {
            ++load.others;
            load.suspect_others += suspect ? 1 : 0;
        }
    }
    return load;
}

bool Schedule::may_start(const Member& member, Step step, const Load& load, Instant now) const {
    if (step == Step::keep)
        return load.suspect_keeps < limits_.suspects || !is_suspect(member, now);
    const bool keeps = member.steps.at(index(Step::keep)).running;
    return load.others + 1 < std::max<std::size_t>(limits_.threads, 2) &&
           member.running - (keeps ? 1 : 0) < limits_.per_store &&
           (load.suspect_others < limits_.suspects || !is_suspect(member, now));
}

std::optional<Schedule::StoreNumber> Schedule::first_of(Step step, const Load& load,
                                                        Instant now) const {
    for (const auto& [due, store] : due_.at(index(step))) {
        if (due > now) break;
        if (may_start(members_.at(store), step, load, now)) return store;
    }
    return std::nullopt;
}

std::optional<Schedule::StoreNumber> Schedule::next_poll(const Load& load, Instant now) const {
    std::vector<StoreNumber> stores;
    for (const auto& [at, store] : due_.at(index(Step::claim))) {
        if (at > now) break;
        if (may_start(members_.at(store), Step::claim, load, now)) stores.push_back(store);
    }
    if (stores.empty()) return std::nullopt;
    std::sort(stores.begin(), stores.end());
    const std::vector<StoreNumber> due = stores;
    if (last_ && !std::binary_search(stores.begin(), stores.end(), last_->store))
        stores.insert(std::lower_bound(stores.begin(), stores.end(), last_->store), last_->store);
    std::vector<PollCandidate> candidates;
    candidates.reserve(stores.size());
    for (const StoreNumber store : stores)
        candidates.push_back({.store = members_.at(store).id,
                              .due = std::binary_search(due.begin(), due.end(), store)});
    std::optional<LastPoll> last;
    if (last_) {
        const Member& member = members_.at(last_->store);
        // The turn of a suspect is not waited for.
        last = LastPoll{.store = member.id, .count = last_->count};
        if (is_suspect(member, now)) last->count = 0;
    }
    const std::optional<std::size_t> chosen = strategy_->next(candidates, last ? &*last : nullptr);
    if (!chosen || *chosen >= candidates.size() || !candidates[*chosen].due) return std::nullopt;
    return stores[*chosen];
}

std::optional<Schedule::Pick> Schedule::next(Instant now, bool may_claim) {
    const Load under_way_now = load(now);
    for (const Step step : {Step::report, Step::maintain}) {
        const Due& waiting = due_.at(index(step));
        if (waiting.empty() || waiting.begin()->first > now - maintain_patience) continue;
        if (const auto store = first_of(step, under_way_now, now)) return start(*store, step, now);
    }
    for (const Step step : order) {
        if (step == Step::claim && !may_claim) continue;
        const std::optional<StoreNumber> store = step == Step::claim
                                                     ? next_poll(under_way_now, now)
                                                     : first_of(step, under_way_now, now);
        if (store) return start(*store, step, now);
    }
    return std::nullopt;
}

Schedule::Pick Schedule::start(StoreNumber store, Step step, Instant now) {
    Member& member = members_.at(store);
    if (step == Step::claim) last_ = Last{.store = store};
    set_due(store, member, step, Instant::max());
    StepState& state = member.steps.at(index(step));
    POSTROOM_ASSERT(!state.running);
    state.running = true;
    state.again = false;
    state.started = now;
    ++member.running;
    return running_.emplace_back(Pick{.store = store, .step = step});
}

void Schedule::finished(const Pick& pick, Instant now, const Report& report) {
    const auto found = members_.find(pick.store);
    if (found == members_.end()) return;
    Member& member = found->second;
    StepState& state = member.steps.at(index(pick.step));
    std::erase_if(running_, [&](const Pick& running) {
        return running.store == pick.store && running.step == pick.step;
    });
    state.running = false;
    --member.running;
    if (report.failed || now - state.started >= limits_.slow)
        member.suspect_until = now + limits_.suspicion;
    if (pick.step == Step::claim && last_ && last_->store == pick.store)
        last_->count = report.claimed;
    if (!state.ended) set_due(pick.store, member, pick.step, state.again ? now : report.next);
}

Instant Schedule::wake_at(Instant now) const {
    Instant first = Instant::max();
    for (const Due& due : due_) {
        if (due.empty()) continue;
        if (due.begin()->first <= now) first = std::min(first, now + blocked_look);
        const auto later = due.upper_bound({now, ~StoreNumber{0}});
        if (later != due.end()) first = std::min(first, later->first);
    }
    return first;
}

bool Schedule::under_way(StoreNumber store, Step step) const {
    const auto found = members_.find(store);
    return found != members_.end() && found->second.steps.at(index(step)).running;
}

std::size_t Schedule::under_way(StoreNumber store) const {
    const auto found = members_.find(store);
    return found == members_.end() ? 0 : found->second.running;
}

}  // namespace postroom
