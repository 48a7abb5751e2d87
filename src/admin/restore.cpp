#include "admin/restore.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admin/audit.hpp"
#include "base/rfc3339.hpp"
#include "postroom/error.hpp"

namespace postroom::admin {

namespace {

constexpr std::uint32_t batch_max = 500;
constexpr std::uint32_t reap_max = 1000;
constexpr int hold_attempts_max = 5;

RestoreControls& guard_of(Store& store) {
    RestoreControls* const found = restore_controls_of(store);
    if (found == nullptr)
        throw Error(ErrorKind::misuse, fmt::format("store '{}' has no restore guard", store.id()));
    return *found;
}

// Where nobody has noticed yet, everything up to now is from before.
Instant limit_of(Store& store, const RestoreRequest& request, const RestoreReport& report) {
    if (request.before) return *request.before;
    return report.home.hold ? report.home.hold->since : store.now();
}

Query waiting_before(Instant limit, StateSet states) {
    return {.state = states, .created_before = limit, .payloads = false};
}

// The messages that `query` finds, batch by batch, in the order of their numbers.
void for_each_batch(Store& store, Query query,
                    const std::function<void(const std::vector<Message>&)>& use) {
    query.newest_first = false;
    query.limit = batch_max;
    while (true) {
        const std::vector<Message> found = store.find(Queue::outbox, query);
        if (!found.empty()) use(found);
        if (found.size() < query.limit) return;
        query.after_seq = found.back().id.seq();
    }
}

std::vector<WorkItemId> set_aside_among(const std::vector<Message>& messages) {
    std::vector<WorkItemId> ids;
    for (const Message& message : messages)
        if (message.dead_reason == DeadReason::restored) ids.push_back(message.id);
    return ids;
}

// What was in progress when the backup was made is leased to workers who know nothing of it; nearly
// always those leases are over.
void set_aside(Store& store, Instant limit, const RestoreRequest& request, RestoreResult& result) {
    while (store.reap(Queue::outbox, reap_max) > 0) {
    }
    for_each_batch(store, waiting_before(limit, State::ready), [&](const auto& found) {
        std::vector<WorkItemId> ids;
        for (const Message& message : found) ids.push_back(message.id);
        result.matched += ids.size();
        result.changed += guard_of(store).set_aside(ids);
        if (request.progress) request.progress(result.changed);
    });
    result.left =
        store.count(Queue::outbox, waiting_before(limit, {State::ready, State::in_progress}));
}

void requeue(Store& store, const RestoreRequest& request, RestoreResult& result) {
    for_each_batch(store, {.state = State::dead, .payloads = false}, [&](const auto& found) {
        const std::vector<WorkItemId> ids = set_aside_among(found);
        result.matched += ids.size();
        result.changed += store.redrive(Queue::outbox, ids);
        if (request.progress) request.progress(result.changed);
    });
}

AuditEntry entry_of(const RestoreRequest& request, const RestoreReport& report, Instant limit) {
    AuditEntry entry{.who = request.who,
                     .what = fmt::format("restore {}", verb_of(request.answer)),
                     .target = report.why.value_or("not held")};
    if (request.answer == RestoreAnswer::discard)
        entry.target += fmt::format("; before {}", base::rfc3339_milliseconds(limit));
    return entry;
}

}  // namespace

std::string_view verb_of(RestoreAnswer answer) {
    return answer == RestoreAnswer::proceed   ? "continue"
           : answer == RestoreAnswer::discard ? "discard"
                                              : "requeue";
}

RestoreReport restore_report(Store& store) {
    RestoreReport report{.store = store.id(), .home = guard_of(store).home()};
    report.why =
        report.home.hold ? std::optional(report.home.hold->why) : sign_of_restore(report.home);
    return report;
}

std::optional<RestoreHold> restore_hold(Store& store) {
    RestoreControls* const guard = restore_controls_of(store);
    if (guard == nullptr) return std::nullopt;
    try {
        return guard->home().hold;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
        return std::nullopt;
    }
}

bool hold_delivery(Store& store, const std::string& who) {
    if (restore_report(store).home.hold) return false;
    AuditTrail trail(store, {.who = who, .what = "restore hold", .target = "delivery"});
    trail.begin();
    // Whoever names the store or decides in this moment takes its incarnation away.
    for (int attempt = 0; attempt < hold_attempts_max; ++attempt) {
        guard_of(store).hold_delivery(fmt::format("held by {}", who));
        if (!restore_report(store).home.hold) continue;
        trail.end("done");
        return true;
    }
    throw Error(
        ErrorKind::conflict,
        fmt::format("store '{}' could not be held: others decide at the same time", store.id()));
}

RestoreResult consider(Store& store, const RestoreRequest& request) {
    const RestoreReport report = restore_report(store);
    RestoreResult result{.store = store.id(),
                         .answer = request.answer,
                         .was_held = report.why.has_value(),
                         .dry_run = true};
    if (request.answer == RestoreAnswer::proceed) {
        const Counts counts = store.counts(Queue::outbox);
        result.matched = counts.ready + counts.in_progress;
    }
    if (request.answer == RestoreAnswer::discard)
        result.matched = store.count(
            Queue::outbox,
            waiting_before(limit_of(store, request, report), {State::ready, State::in_progress}));
    if (request.answer == RestoreAnswer::requeue)
        for_each_batch(store, {.state = State::dead, .payloads = false},
                       [&](const auto& found) { result.matched += set_aside_among(found).size(); });
    return result;
}

RestoreResult decide(Store& store, const RestoreRequest& request) {
    RestoreReport report = restore_report(store);
    // A sign becomes a hold first: what comes after it is not from before, however often the
    // decision has to be repeated.
    if (report.why && !report.home.hold) {
        guard_of(store).hold_delivery(*report.why);
        report = restore_report(store);
    }
    const Instant limit = limit_of(store, request, report);
    RestoreResult result{
        .store = store.id(), .answer = request.answer, .was_held = report.why.has_value()};
    // Somebody else has decided meanwhile. What waits now is not from before.
    if (!result.was_held && request.answer != RestoreAnswer::requeue) return result;
    AuditTrail trail(store, entry_of(request, report, limit));
    trail.begin();
    if (request.answer == RestoreAnswer::discard) set_aside(store, limit, request, result);
    if (request.answer == RestoreAnswer::requeue) requeue(store, request, result);
    if (result.was_held && result.goes_on())
        guard_of(store).end_hold(std::string(verb_of(request.answer)), request.who);
    trail.changed(result.changed);
    trail.end(result.goes_on() ? "done" : "some are still held");
    store.announce(Queue::outbox);
    return result;
}

}  // namespace postroom::admin
