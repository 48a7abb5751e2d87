#include "admin/health.hpp"

#include <fmt/format.h>

#include "admin/pauses.hpp"
#include "admin/restore.hpp"
#include "admin/workers.hpp"
#include "base/duration_text.hpp"
#include "base/rfc3339.hpp"
#include "postroom/error.hpp"

namespace postroom::admin {

namespace {

using base::format_duration;
using Findings = std::vector<Finding>;
using Health = Finding::Health;

constexpr std::uint32_t blocking_counted_max = 100;

// Half of the way there and back is taken for the way back.
void check_clock(Findings& out, Store& store, const Clock& here, Duration offset_max) {
    const Instant before = here.now();
    const Instant there = store.now();
    const Instant after = here.now();
    const Duration offset = there - (before + (after - before) / 2);
    const Duration size = offset < Duration::zero() ? -offset : offset;
    out.push_back({.check = "clock",
                   .health = size > offset_max ? Health::warning : Health::good,
                   .what = fmt::format("the database is {} {} this machine", format_duration(size),
                                       offset < Duration::zero() ? "behind" : "ahead of")});
    out.push_back({.check = "round trip", .what = format_duration(after - before)});
}

void check_keys(Findings& out, Store& store, Queue queue) {
    const std::size_t blocking =
        store.find(queue, {.blocking = true, .limit = blocking_counted_max, .payloads = false})
            .size();
    if (blocking == 0) return;
    out.push_back(
        {.check = fmt::format("{} keys", to_string(queue)),
         .health = Health::warning,
         .what = fmt::format(
             "{} messages hold back others of their ordering key: 'postroom list --blocking'",
             blocking == blocking_counted_max ? fmt::format("{} or more", blocking)
                                              : fmt::format("{}", blocking))});
}

void check_workers(Findings& out, Store& store, Queue queue) {
    const std::vector<WorkerReport> workers = workers_of(store, queue);
    if (workers.empty()) return;
    const Instant now = store.now();
    const std::string check = fmt::format("{} workers", to_string(queue));
    out.push_back({.check = check, .what = fmt::format("{} at work", workers.size())});
    for (const CircuitReport& circuit : destinations_down(workers))
        out.push_back({.check = check,
                       .health = Health::warning,
                       .what = "wait for " + sentence_of(circuit, now)});
}

void check_queue(Findings& out, Store& store, Queue queue, Duration lag_max) {
    const Counts counts = store.counts(queue);
    const Duration lag = counts.oldest ? store.now() - *counts.oldest : Duration::zero();
    out.push_back(
        {.check = std::string(to_string(queue)),
         .health = counts.dead > 0 || lag > lag_max ? Health::warning : Health::good,
         .what = fmt::format(
             "{}{} ready, {} in progress, {} dead{}", counts.estimated ? "about " : "",
             counts.ready, counts.in_progress, counts.dead,
             counts.oldest ? fmt::format(", the oldest has waited for {}", format_duration(lag))
                           : "")});
    check_keys(out, store, queue);
    check_workers(out, store, queue);
}

void check_restore(Findings& out, Store& store) {
    if (restore_controls_of(store) == nullptr) return;
    try {
        const RestoreReport report = restore_report(store);
        out.push_back({.check = "restore",
                       .health = report.why ? Health::bad : Health::good,
                       .what = report.why ? fmt::format("delivery is held: {}; see 'postroom "
                                                        "restore status'",
                                                        *report.why)
                                          : "delivery is not held"});
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::rejected) throw;
        out.push_back({.check = "restore",
                       .health = Health::warning,
                       .what = fmt::format("cannot look: {}", error.what())});
    }
}

void check_database(Findings& out, Store& store) {
    if (StoreControls* const desk = controls_of(store))
        for (Finding& finding : desk->examine()) out.push_back(std::move(finding));
    for (const PausedTopic& paused : paused_topics(store))
        out.push_back({.check = "paused",
                       .health = Health::warning,
                       .what = fmt::format("the topic '{}' has been paused since {}", paused.topic,
                                           base::rfc3339_milliseconds(paused.since))});
}

}  // namespace

Findings check_schema(const SchemaReport& report) {
    Findings out;
    if (report.newer) {
        out.push_back({.check = "schema",
                       .health = Health::warning,
                       .what = "migrated by a newer postroom: upgrade this one"});
    } else if (!report.pending.empty()) {
        out.push_back({.check = "schema",
                       .health = Health::bad,
                       .what = fmt::format("{} migrations pending: run 'postroom migrate up'",
                                           report.pending.size())});
    } else {
        out.push_back({.check = "schema", .what = fmt::format("version {}", report.version)});
    }
    for (const std::string& routines : report.outdated)
        out.push_back({.check = "schema",
                       .health = Health::warning,
                       .what = fmt::format("{} are those of another version: 'postroom migrate up' "
                                           "replaces them",
                                           routines)});
    for (const std::string& line : report.drift)
        out.push_back({.check = "schema drift", .health = Health::warning, .what = line});
    return out;
}

Findings check_store(Store& store, const Clock& here, const HealthLimits& limits) {
    Findings out;
    check_clock(out, store, here, limits.clock_offset);
    check_queue(out, store, Queue::outbox, limits.lag);
    check_queue(out, store, Queue::inbox, limits.lag);
    check_restore(out, store);
    check_database(out, store);
    return out;
}

std::string_view health_word(Health health) {
    return health == Health::good ? "ok" : health == Health::warning ? "warning" : "bad";
}

}  // namespace postroom::admin
