#include "sql/restore_guard.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/random.hpp"
#include "base/uuid.hpp"
#include "postroom/error.hpp"

namespace postroom::sql {

namespace {

// Between two looks while everything is as it should be.
constexpr std::chrono::seconds look_interval{5};

// Behind the place.
enum Column {
    here,
    incarnation,
    epoch,
    place,
    held_since,
    held_why,
    decision,
    decided_at,
    decided_by
};

std::string fresh_incarnation() {
    base::SystemRandom random;
    return base::uuid_v4(random).to_string();
}

StoreHome home_from(const Row& row) {
    StoreHome home{.incarnation = std::string(row.text(incarnation)),
                   .epoch = static_cast<std::uint64_t>(row.integer(epoch)),
                   .place = std::string(row.text(place)),
                   .here = std::string(row.text(here))};
    if (!row.null(held_since))
        home.hold = {.since = row.time(held_since), .why = std::string(row.text(held_why))};
    if (!row.null(decided_at))
        home.decided = {.what = std::string(row.text(decision)),
                        .who = std::string(row.text(decided_by)),
                        .at = row.time(decided_at)};
    return home;
}

Error held(const std::string& why) {
    return {ErrorKind::unavailable,
            fmt::format("delivery is held: {}; see 'postroom restore status', and decide with "
                        "'postroom restore continue', 'discard' or 'requeue'",
                        why)};
}

void write(Runner& runner, const Batch& batch) {
    runner.run(
        nullptr, batch, false, [] {}, [](std::size_t, const Row&) {});
}

// False: this user may not, or somebody was in the way. Others note it, or an operator.
bool if_allowed(const std::function<void()>& change) {
    try {
        change();
        return true;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected && error.kind() != ErrorKind::conflict) throw;
        return false;
    }
}

// A user who may not see where the database is leaves what is known.
const std::string& place_to_note(const StoreHome& home) {
    return home.here.empty() ? home.place : home.here;
}

}  // namespace

RestoreGuard::RestoreGuard(const RestoreUnits& units, const RestoreGuardOptions& options,
                           std::function<std::string()> place)
    : units_(units),
      options_(options),
      place_(std::move(place)),
      memory_(options.state_dir, options.settled_after) {}

std::optional<StoreHome> RestoreGuard::read(
    const std::function<void(const OnTaggedRow&)>& run) const {
    std::optional<StoreHome> home;
    run([&](std::size_t, const Row& row) { home = home_from(row); });
    if (home && place_) home->here = place_();
    return home;
}

std::optional<StoreHome> RestoreGuard::read(Runner& runner) const {
    Batch batch;
    batch.add(units_.look);
    return read([&](const OnTaggedRow& on_row) {
        runner.run(
            nullptr, batch, false, [] {}, on_row);
    });
}

// Only a decision ends a hold, and that begins a new incarnation. A connection that is older than
// the restore may still lead to what there was before.
RestoreGuard::View RestoreGuard::judge(StoreHome home) {
    View view{.why = home.hold ? std::optional(home.hold->why)
                               : sign_of_restore(home, memory_.of(home.incarnation))};
    view.shows_sign = view.why && !home.hold;
    if (!view.why && standing_ == Standing::held && home.incarnation == seen_incarnation_)
        view.why = why_;
    view.home = std::move(home);
    return view;
}

void RestoreGuard::note(const View& view) {
    standing_ = view.why ? Standing::held : Standing::clear;
    why_ = view.why.value_or("");
    seen_incarnation_ = view.home.incarnation;
    look_at_ = SteadyClock::now() + look_interval;
    if (!view.why) memory_.note(view.home.incarnation, view.home.epoch, SystemClock().now());
}

// A store without the table, or whose user may not read it, is served as it is: `doctor` tells.
void RestoreGuard::look_at(Connection& connection) {
    if (!options_.on) return;
    Batch batch;
    batch.add(units_.look);
    std::optional<StoreHome> home;
    try {
        home = read([&](const OnTaggedRow& on_row) {
            connection.run(Bracket::transaction, batch.calls(), on_row);
        });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
    }
    const base::MutexLock lock(mutex_);
    if (!home) {
        look_at_ = {};  // a standby, perhaps, which may be promoted in a moment
        return;
    }
    const View view = judge(std::move(*home));
    const bool claims = standing_ == Standing::clear || standing_ == Standing::unguarded;
    note(view);
    if (claims && view.why) throw held(*view.why);
}

void RestoreGuard::before_claim(Runner& runner, const std::function<Instant()>& now) {
    if (!options_.on) return;
    bool look_now = false;
    {
        const base::MutexLock lock(mutex_);
        look_now = (standing_ != Standing::clear && standing_ != Standing::unguarded) ||
                   SteadyClock::now() >= look_at_;
    }
    if (look_now || raise_is_due()) look(runner, now);
    const base::MutexLock lock(mutex_);
    if (standing_ == Standing::held) throw held(why_);
}

bool RestoreGuard::raise_is_due() {
    const base::MutexLock lock(mutex_);
    return standing_ == Standing::clear &&
           (!raised_at_ || SteadyClock::now() - *raised_at_ >= options_.raise_interval);
}

void RestoreGuard::look(Runner& runner, const std::function<Instant()>& now) {
    std::optional<StoreHome> home;
    try {
        home = read(runner);
        // A user who may not write goes by what is there.
        if (home && home->incarnation.empty() && if_allowed([&] { adopt(runner, *home); }))
            home = read(runner);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
        home.reset();
    }
    View view;
    {
        const base::MutexLock lock(mutex_);
        // One that was there before is about to come back, perhaps from a backup.
        if (!home) {
            if (standing_ != Standing::held) standing_ = Standing::unguarded;
            look_at_ = SteadyClock::now();
            if (seen_incarnation_.empty()) look_at_ += look_interval;
            return;
        }
        view = judge(std::move(*home));
        note(view);
    }
    if (view.shows_sign) if_allowed([&] { hold(runner, view.home, *view.why, now()); });
    if (!view.why && raise_is_due()) {
        const bool raised = if_allowed([&] { raise(runner, view.home); });
        const base::MutexLock lock(mutex_);
        raised_at_ = SteadyClock::now();
        if (raised) memory_.note(view.home.incarnation, view.home.epoch + 1, SystemClock().now());
    }
}

void RestoreGuard::adopt(Runner& runner, const StoreHome& home) const {
    const std::string fresh = fresh_incarnation();
    Batch batch;
    batch.add(units_.adopt)
        .set("fresh", std::string_view(fresh))
        .set("place", std::string_view(home.here));
    write(runner, batch);
}

void RestoreGuard::raise(Runner& runner, const StoreHome& home) const {
    Batch batch;
    batch.add(units_.raise)
        .set("incarnation", std::string_view(home.incarnation))
        .set("place", std::string_view(place_to_note(home)));
    write(runner, batch);
}

StoreHome RestoreGuard::home(Runner& runner) {
    std::optional<StoreHome> home = read(runner);
    if (!home)
        throw Error(ErrorKind::rejected,
                    "the row that tells where this store lives is missing, or this server "
                    "takes no writes");
    return *home;
}

void RestoreGuard::hold(Runner& runner, const StoreHome& home, const std::string& why,
                        Instant now) {
    Batch batch;
    batch.add(units_.hold)
        .set("incarnation", std::string_view(home.incarnation))
        .set("why", std::string_view(why))
        .set("now", now);
    write(runner, batch);
}

// What was remembered of the former incarnation does not speak against the new one, and still does
// against the backup, should that come back.
void RestoreGuard::end_hold(Runner& runner, const StoreHome& home,
                            const RestoreDecision& decision) {
    const std::string fresh = fresh_incarnation();
    Batch batch;
    batch.add(units_.end_hold)
        .set("incarnation", std::string_view(home.incarnation))
        .set("fresh", std::string_view(fresh))
        .set("place", std::string_view(place_to_note(home)))
        .set("decision", std::string_view(decision.what))
        .set("who", std::string_view(decision.who))
        .set("now", decision.at);
    write(runner, batch);
}

}  // namespace postroom::sql
